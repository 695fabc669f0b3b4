const workers = 'bell.worker.';

/** Subjects of the bell: "look again", never content (H25). */
export const bells = {
  worker: (workerId: string): string => `${workers}${workerId}`,
  /** Those of all workers, to listen to. */
  workers: `${workers}*`,
  task: (taskId: string): string => `bell.task.${taskId}`,
  controllers: 'bell.controllers',
} as const;

/** Whose bell it is; nothing for any other subject, and for those of all workers. */
export function workerOfBell(subject: string): string | undefined {
  const id = subject.startsWith(workers) ? subject.slice(workers.length) : '*';
  return id === '*' ? undefined : id;
}

/** Roads for bytes, beside the operations. `:job`, `:epoch`, … are path parameters. */
export const objectPaths = {
  /** GET, job token: the prompt's two strings (DispatchRequest). */
  request: '/v1/jobs/:job/request',
  /** GET with Range, job token: the bundle of the pinned base (H29). */
  bundle: '/v1/jobs/:job/bundle',
  /** GET with Range, job token: a bundle on the base with unmerged branches of the team (D22) and the notes of its members. */
  team: '/v1/jobs/:job/team',
  /** GET, job token: settings, environment and secrets of the repository, for the sandbox only (JobSettings). */
  settings: '/v1/jobs/:job/settings',
  /** GET with Range, job token: a file of git-lfs that the Task's base points to, by its sha256. */
  lfs: '/v1/jobs/:job/lfs/:oid',
  /** PUT, job token, write once; also after the lease's end: then it is kept as a rescue (D20). */
  pack: '/v1/jobs/:job/epochs/:epoch/packs/:commit',
  /** PUT, job token, create only: what the session said, by segment (H17). */
  output: '/v1/jobs/:job/epochs/:epoch/output/:segment',
  /** GET with `?from=`, job token: bytes of what the command said that its Dispatch goes on from (H29), with OutputHead. */
  commandOutput: '/v1/jobs/:job/command-output',
  /** GET with `?from=`, person: bytes of what a command of the Task says, as they are, with OutputHead. */
  runOutput: '/v1/tasks/:task/commands/:command/output',
  /** PUT, person: a checkout as a bundle, named by its sha256 (D19). */
  source: '/v1/sources/:sha256',
  /** GET, person: the Task's branch as a bundle. */
  result: '/v1/tasks/:task/bundle',
  /** GET, person: what the Task changed, as a mailbox for `git am`. */
  patch: '/v1/tasks/:task/patch',
} as const;
