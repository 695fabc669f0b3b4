import type { JobFailure, JobRow, Kind, Next } from '#jobs';
import { statement, type Transaction } from '#store';

export interface TestKind extends Kind {
  /** What its hooks were told, in order: `started 1`, `lost expired 2`, … with the epoch at the end. */
  readonly told: string[];
  /** What it answers next. */
  readonly says: {
    lost: Next;
    fail: Next;
    deadline: Next;
    redrive: 'queue' | 'seen_to';
    kept: boolean;
    /** Thrown by the hook of this name. */
    trouble: { readonly hook: string; readonly error: Error } | undefined;
  };
}

/** Locks a scope as a Task's row would be. */
export const lockTestScope = statement<unknown>(
  'test.lock_scope',
  `select pg_advisory_xact_lock(hashtextextended('scope' || $scope, 0))`,
);

/** A kind with a scope that notes what the queue asks it. */
export function aTestKind(name = 'turn'): TestKind {
  const told: string[] = [];
  const says: TestKind['says'] = {
    lost: { next: 'queue' },
    fail: { next: 'dead' },
    deadline: { next: 'dead' },
    redrive: 'queue',
    kept: true,
    trouble: undefined,
  };
  const note = (hook: string, job: JobRow, more = '') => {
    if (says.trouble?.hook === hook) throw says.trouble.error;
    told.push([hook, more, job.epoch].filter((part) => part !== '').join(' '));
  };
  return {
    name,
    told,
    says,
    async lockScope(tx: Transaction, scope: string | null) {
      if (scope !== null) await tx.run(lockTestScope, { scope });
    },
    async prepare(job, end) {
      note('prepare', job, end.ended);
      return `prepared ${job.epoch}`;
    },
    async onStarted(_, job) {
      note('started', job);
    },
    async onContinued(_, job) {
      note('continued', job);
    },
    async onComplete(_, job, end) {
      note('complete', job, `${end.ended} ${String(end.prepared)}`);
      return { kept: says.kept };
    },
    async onFail(_, job, failure: JobFailure) {
      note('fail', job, `${failure.reason}${failure.exhausted ? ' exhausted' : ''}`);
      return says.fail;
    },
    async onLeaseLost(_, job, reason) {
      note('lost', job, reason);
      return says.lost;
    },
    async onDeadline(_, job) {
      note('deadline', job);
      return says.deadline;
    },
    async onCancelled(_, job, how) {
      note('cancelled', job, how);
    },
    async onProgress(_, job, beat) {
      note('progress', job, JSON.stringify(beat.progress));
    },
    async onRequeue(_, job) {
      note('requeue', job);
    },
    async onRedrive(_, job) {
      note('redrive', job);
      return says.redrive;
    },
  };
}
