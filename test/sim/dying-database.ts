import type { Database, Queries, Statement, Transaction } from '#store';

/** The controller died in the middle of a call: its connection is gone and its transaction with it. */
export class ControllerDied extends Error {}

/** When the controller dies: before its nth statement from now, or right before a commit. */
export class Death {
  private left: number | undefined;

  get armed(): boolean {
    return this.left !== undefined;
  }

  /** Statements that are still run; undefined: it lives. */
  arm(statements: number | undefined): void {
    this.left = statements;
  }

  strike(): void {
    if (this.left === undefined) return;
    if (this.left > 0) this.left -= 1;
    else throw new ControllerDied('the controller died here');
  }
}

/** A database whose user may die before any of its statements: what was not committed is gone (P1). */
export function dyingDatabase(database: Database, death: Death): Database {
  const queries = (on: Queries): Queries => ({
    async all<Row>(stated: Statement<Row>, given?: Readonly<Record<string, unknown>>) {
      death.strike();
      return on.all(stated, given);
    },
    async first<Row>(stated: Statement<Row>, given?: Readonly<Record<string, unknown>>) {
      death.strike();
      return on.first(stated, given);
    },
    async run(stated, given) {
      death.strike();
      return on.run(stated, given);
    },
  });
  const within = (tx: Transaction): Transaction => ({
    ...queries(tx),
    later(stated, given) {
      death.strike();
      tx.later(stated, given);
    },
    attempt: (work) => tx.attempt(work),
    beforeCommit: (act) =>
      tx.beforeCommit(async () => {
        await act();
        death.strike();
      }),
    afterCommit: (act) => tx.afterCommit(act),
    afterFailure: (act) => tx.afterFailure(act),
  });
  const work =
    <T>(act: (tx: Transaction) => Promise<T>) =>
    async (tx: Transaction) => {
      const answer = await act(within(tx));
      death.strike();
      return answer;
    };
  return {
    ...queries(database),
    transaction: (act) => database.transaction(work(act)),
    reading: (act) => database.reading(work(act)),
    session: (act) => database.session((on) => act(queries(on))),
    close: () => database.close(),
  };
}
