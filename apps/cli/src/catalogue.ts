import {
  accountList,
  accountResume,
  auditList,
  type Contract,
  configShow,
  jobSubmit,
  keyList,
  keyRotate,
  personCreate,
  personDisable,
  personEnable,
  personList,
  personResetPassword,
  personSetRole,
  queueCancel,
  queueList,
  queueRedrive,
  queueRequeue,
  quotaSet,
  repoList,
  repoRemove,
  serviceTokenCreate,
  serviceTokenList,
  serviceTokenRevoke,
  sessionList,
  sessionRevoke,
  status,
  taskControl,
  taskEvents,
  whoami,
  workerDrain,
  workerInvite,
  workerList,
  workerPause,
  workerResume,
  workflowGet,
  workflowSearch,
} from '#contracts';

/** An operation that the command line offers as it stands, and how its answer is shown. */
export interface CatalogueEntry {
  readonly contract: Contract;
  /** Something changes: takes `--yes` and `--idempotency-key`. */
  readonly changes: boolean;
  /** Columns of its list; all when absent. `--json` has everything. */
  readonly columns?: readonly string[];
}

const read = (contract: Contract, columns?: readonly string[]): CatalogueEntry => ({
  contract,
  changes: false,
  ...(columns && { columns }),
});
const change = (contract: Contract): CatalogueEntry => ({ contract, changes: true });

/** What is generated. The rest of `task` and `workflow import` need files or git and are written by hand. */
export const catalogue: readonly CatalogueEntry[] = [
  read(status, ['task_id', 'kind', 'summary']),
  read(queueList, ['id', 'kind', 'task_id', 'member', 'state', 'phase', 'epoch', 'worker_id', 'note']),
  change(queueRequeue),
  change(queueCancel),
  change(queueRedrive),
  change(jobSubmit),
  read(workerList, ['worker_id', 'name', 'state', 'busy', 'slots', 'pool', 'labels', 'host', 'note']),
  change(workerPause),
  change(workerResume),
  change(workerDrain),
  change(workerInvite),
  change(quotaSet),
  read(accountList),
  change(accountResume),
  read(auditList, ['seq', 'at', 'operation', 'door', 'actor', 'agent_id', 'outcome', 'job_id', 'calls', 'sealed']),
  read(workflowSearch),
  read(workflowGet),
  read(repoList, ['name', 'url', 'credential', 'default_branch', 'project', 'setup', 'verify', 'secrets']),
  change(repoRemove),
  read(configShow, ['key', 'value', 'source']),
  read(taskEvents),
  change(taskControl),
  read(whoami),
  read(personList),
  change(personCreate),
  change(personSetRole),
  change(personDisable),
  change(personEnable),
  change(personResetPassword),
  read(sessionList),
  change(sessionRevoke),
  read(serviceTokenList),
  change(serviceTokenCreate),
  change(serviceTokenRevoke),
  read(keyList),
  change(keyRotate),
];
