import type { Transaction } from '#store';

/** A transaction that runs nothing, for who only listens to its end. */
export function aSubmit(): { readonly tx: Transaction; commit(): void; fail(): void } {
  const rings: (() => void)[] = [];
  const failures: (() => void)[] = [];
  return {
    tx: {
      all: async () => [],
      first: async () => undefined,
      run: async () => 0,
      later: () => {},
      attempt: (work) => work(),
      beforeCommit: () => {},
      afterCommit: (act) => void rings.push(act),
      afterFailure: (act) => void failures.push(act),
    },
    commit: () => {
      for (const act of rings) act();
    },
    fail: () => {
      for (const act of failures) act();
    },
  };
}
