import { describe, expect, it } from '@jest/globals';
import { farmTime } from './check-farm.js';

describe('the doctor, of farm time', () => {
  it('tells how far it is behind the clock, and that it stands still', () => {
    expect(farmTime({ farm_time_behind_ms: 3, farm_time_runs: true })).toMatchObject({ state: 'ok' });
    expect(farmTime({ farm_time_behind_ms: 3_600_000 * 5, farm_time_runs: true })).toMatchObject({
      state: 'ok',
      found: expect.stringMatching(/^5 h behind the clock: it stood still/),
    });
    expect(farmTime({ farm_time_behind_ms: 90_000, farm_time_runs: false })).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('stands still'),
    });
  });
});
