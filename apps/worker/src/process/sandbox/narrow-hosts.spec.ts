import { describe, expect, it } from '@jest/globals';
import { narrowHosts } from './narrow-hosts.js';

describe('the hosts that a machine’s owner allows', () => {
  it.each([
    [['a.example', 'b.example'], undefined, ['a.example', 'b.example']],
    [['a.example', 'b.example'], ['a.example'], ['a.example']],
    [['a.example'], [], []],
    [['*'], ['a.example', '*.b.example'], ['a.example', '*.b.example']],
    [['x.b.example', 'b.example', 'xb.example'], ['*.b.example'], ['x.b.example']],
    [['*.example'], ['a.example:8443', 'a.example:443'], ['a.example:443']],
    [['a.example:8443'], ['a.example'], []],
    [['a.example:8443'], ['*'], []],
    [['a.example:443'], ['*'], ['a.example:443']],
  ] as const)('H27 narrow those of a job, and never add to them: %j under %j', (asked, allowed, met) => {
    expect(narrowHosts(asked, allowed)).toEqual(met);
  });
});
