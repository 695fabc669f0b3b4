import { describe, expect, it } from '@jest/globals';
import { buildOnce } from '../../../../../test/support/build.js';
import { checkSandbox } from './check-sandbox.js';

describe('the doctor', () => {
  it('runs each rung of the sandbox, and names a fix for one that does not work', async () => {
    await buildOnce();
    const findings = await checkSandbox();
    expect(findings.map(({ name }) => name)).toEqual(['sandbox none', 'sandbox process', 'sandbox bwrap']);
    for (const { state, fix } of findings) expect(state === 'ok' || fix !== undefined).toBe(true);
    expect(findings[1]).toMatchObject({ state: 'ok', found: expect.stringContaining('limits by') });
  });
});
