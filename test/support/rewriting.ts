import type { Database, Queries, Statement, Transaction } from '#store';

/** Changes a statement on its way to PostgreSQL. */
export type Rewrite = (stated: Statement<unknown>) => Statement<unknown>;

/** The database, with each statement changed on its way. */
export function rewriting(database: Database, rewrite: Rewrite): Database {
  const queries = (on: Queries): Queries => ({
    // The row's type is the statement's: only its text is another.
    all: (stated, given) => on.all({ ...stated, ...textOf(rewrite(stated)) }, given),
    first: (stated, given) => on.first({ ...stated, ...textOf(rewrite(stated)) }, given),
    run: (stated, given) => on.run(rewrite(stated), given),
  });
  const transaction = (tx: Transaction): Transaction => ({
    ...queries(tx),
    later: (stated, given) => tx.later(rewrite(stated), given),
    attempt: (work) => tx.attempt(work),
    beforeCommit: (act) => tx.beforeCommit(act),
    afterCommit: (act) => tx.afterCommit(act),
    afterFailure: (act) => tx.afterFailure(act),
  });
  return {
    ...queries(database),
    transaction: (work) => database.transaction((tx) => work(transaction(tx))),
    reading: (work) => database.reading((tx) => work(transaction(tx))),
    session: (work) => database.session((on) => work(queries(on))),
    close: () => database.close(),
  };
}

function textOf({ name, text, parameters }: Statement<unknown>) {
  return { name, text, parameters };
}
