import { describe, expect, it } from '@jest/globals';
import type { RungProof } from './prove-rungs.js';
import { sandboxRungs } from './rules.js';
import { SandboxPolicy } from './sandbox-policy.js';
import { readSandboxSettings, type SandboxSettings } from './sandbox-settings.js';

const withWalls: readonly RungProof[] = sandboxRungs.map((rung) => ({ rung, works: true, found: 'ran' }));
const without: readonly RungProof[] = withWalls.map((proof) =>
  proof.rung === 'bwrap'
    ? { ...proof, works: false, found: 'no bubblewrap', fix: 'apt-get install bubblewrap' }
    : proof,
);
const policy = (rung: SandboxSettings['rung'], more: { unsafe?: boolean; proofs?: readonly RungProof[] } = {}) =>
  new SandboxPolicy(
    { ...readSandboxSettings({ LONGSHORE_SANDBOX: rung }), unsafe: more.unsafe ?? false },
    more.proofs ?? withWalls,
  );
const refused = { code: 'misconfigured', detail: expect.stringContaining('bwrap') };

describe('the rung of a session', () => {
  it('H28 gives a real agent walls or refuses it, and goes without only where the owner said unsafe', () => {
    const agent = { foreign: true };
    expect(policy('auto').rungFor(agent)).toBe('bwrap');
    for (const rung of ['none', 'process', 'auto'] as const) {
      const bare = policy(rung, { proofs: without });
      expect(() => bare.rungFor(agent)).toThrow(expect.objectContaining(refused));
      expect(policy(rung, { proofs: without, unsafe: true }).rungFor(agent)).toBe(rung === 'auto' ? 'process' : rung);
    }
    // unsafe allows and asks for nothing
    expect(policy('auto', { unsafe: true }).rungFor(agent)).toBe('bwrap');
    expect(() => policy('bwrap', { proofs: without, unsafe: true }).rungFor(agent)).toThrow();
  });

  it('never gives less than a workflow asks for', () => {
    for (const mode of ['read_only', 'workspace_write'] as const) {
      expect(policy('auto').rungFor({ foreign: false, mode })).toBe('bwrap');
      for (const rung of ['none', 'process'] as const) {
        expect(() => policy(rung, { unsafe: true }).rungFor({ foreign: false, mode })).toThrow();
      }
      expect(() => policy('auto', { unsafe: true, proofs: without }).rungFor({ foreign: true, mode })).toThrow();
    }
    expect(policy('auto').rungFor({ foreign: false, mode: 'full_access' })).toBe('none');
  });

  it('offers as labels what was proved and may be used', () => {
    expect(policy('auto').rungs).toEqual(['bwrap']);
    expect(policy('auto', { proofs: without }).rungs).toEqual([]);
    expect(policy('process', { unsafe: true }).rungs).toEqual([]);
  });

  it('names settings that do not hold and never their values', () => {
    const wrong = { LONGSHORE_SANDBOX: 'concrete', LONGSHORE_SANDBOX_READABLE: 'not/absolute' };
    expect(() => readSandboxSettings(wrong)).toThrow(
      expect.objectContaining({
        code: 'misconfigured',
        detail: 'These settings do not hold: LONGSHORE_SANDBOX, LONGSHORE_SANDBOX_READABLE.',
      }),
    );
  });
});
