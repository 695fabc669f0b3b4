import type { AccountOffer } from '#contracts';
import type { AccountState } from '#jobs';

/** A live machine, as far as accounts go. */
export interface Machine {
  readonly id: string;
  readonly pool: string;
  readonly labels: readonly string[];
  /** In its owner's order; only those that can be used. */
  readonly offers: readonly AccountOffer[];
  /** As people call it. */
  readonly name?: string;
  /** What it has and can not use now. */
  readonly unusable?: readonly AccountOffer[];
}

export interface AccountWish {
  readonly provider: string;
  /** The one that the workflow or the Task names. */
  readonly named?: string | undefined;
  readonly pool: string;
  readonly labels: readonly string[];
}

/** The built-in provider costs nothing and is on every machine: it runs without an account. */
const builtIn = 'scripted';

/** What a job asks for that no account is there for yet: no machine offers a name of this form. */
const anyOf = (provider: string): string => `provider:${provider}`;

export function providerAskedFor(account: string): string | undefined {
  return account.startsWith('provider:') ? account.slice('provider:'.length) : undefined;
}

/**
 * The account that a Dispatch is to run on. Named: that one, and while it is paused those that its machine's owner lets stand in.
 * Not named: one of the provider that an owner lets anybody use. Of those that fit the first that is neither paused nor full, the
 * least busy before others; if all are paused, the one that goes on first.
 */
export function chooseAccount(
  wish: AccountWish,
  machines: readonly Machine[],
  states: readonly AccountState[],
): string | undefined {
  const { provider, named } = wish;
  if (provider === builtIn && named === undefined) return undefined;
  const fitting = machines.filter(
    ({ pool, labels }) => pool === wish.pool && wish.labels.every((label) => labels.includes(label)),
  );
  const candidates = [...new Set(fitting.flatMap((machine) => candidatesOf(machine, wish)))];
  const ranked = candidates.map((account) => rankOf(account, states)).toSorted(compare);
  return ranked[0]?.account ?? named ?? anyOf(provider);
}

function candidatesOf({ offers }: Machine, { provider, named }: AccountWish): readonly string[] {
  const ofProvider = offers.filter((offer) => offer.provider === provider);
  const first = ofProvider.filter(({ name, use }) => (named === undefined ? use === 'any' : name === named));
  const standIns = first.flatMap(({ failover }) => failover);
  return [
    ...first.map(({ name }) => name),
    ...standIns.filter((name) => ofProvider.some((offer) => offer.name === name)),
  ];
}

interface Rank {
  readonly account: string;
  readonly pausedMs: number;
  readonly full: boolean;
  readonly busy: number;
}

function rankOf(account: string, states: readonly AccountState[]): Rank {
  const state = states.find((other) => other.account === account);
  const busy = state?.busy ?? 0;
  return { account, pausedMs: state?.paused_ms ?? 0, full: state?.max != null && busy >= state.max, busy };
}

/** Stable: equal ones stay in the order of their owners. */
function compare(a: Rank, b: Rank): number {
  return a.pausedMs - b.pausedMs || Number(a.full) - Number(b.full);
}
