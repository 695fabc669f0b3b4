import type { AccountView, WorkerView } from '#contracts';
import type { AccountState } from '#jobs';

/** Each provider account once: what machines offer of it beside its limit and its pause. */
export function accountViews(
  workers: readonly WorkerView[],
  states: readonly AccountState[],
  now: Date = new Date(),
): readonly AccountView[] {
  const here = workers.filter(({ state }) => state !== 'silent' && state !== 'gone');
  const offers = here.flatMap(({ name, accounts }) => accounts.map((offer) => ({ machine: name, offer })));
  const names = new Set([...offers.map(({ offer }) => offer.name), ...states.map(({ account }) => account)]);
  return [...names].sort().map((account) => {
    const said = offers.filter(({ offer }) => offer.name === account);
    const usable = said.filter(({ offer }) => offer.usable);
    const state = states.find((other) => other.account === account);
    const paused = state?.paused_ms ?? null;
    return {
      account,
      provider: said[0]?.offer.provider ?? null,
      state: stateOf(said.length, usable.length, paused),
      machines: usable.map(({ machine }) => machine),
      busy: state?.busy ?? 0,
      max: state?.max ?? null,
      resets_at: paused === null ? null : new Date(now.getTime() + paused).toISOString(),
      note: state?.paused_reason ?? said.find(({ offer }) => offer.reason !== undefined)?.offer.reason ?? null,
    };
  });
}

function stateOf(said: number, usable: number, paused: number | null): AccountView['state'] {
  if (paused !== null) return 'paused';
  if (usable > 0) return 'usable';
  return said > 0 ? 'unusable' : 'absent';
}
