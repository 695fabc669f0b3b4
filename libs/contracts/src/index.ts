export { AuditFault, auditList, auditVerify } from './audit.js';
export { bells, objectPaths } from './bells.js';
export { canonicalJson } from './canonical-json.js';
export { closedAddress } from './closed-addresses.js';
export {
  Command,
  CommandPurpose,
  CommandRunPayload,
  CommandRunRequest,
  CommandRunResult,
  CommandRunState,
  commandRunOutputRead,
  OutputCount,
  Verification,
} from './command-runs.js';
export { configShow, ShownSetting } from './configuration.js';
export type { Contract, InputOf, OutputOf } from './contract.js';
export { contract } from './contract.js';
export type { FarmErrorCode, FieldError, WhoActs } from './errors.js';
export { errorCodes, exitCodeOf, FarmError, isFarmErrorCode } from './errors.js';
export {
  Challenge,
  CredentialFile,
  EnrolReply,
  EnrolRequest,
  headers,
  identityPaths,
  Problem,
  PublicKey,
  Signature,
  TokenReply,
  TokenRequest,
} from './identity.js';
export {
  AuthoredId,
  BootId,
  CommandId,
  Epoch,
  JobId,
  Label,
  Labels,
  LeaseId,
  newCommandId,
  newId,
  newPersonId,
  newTaskId,
  newWorkerId,
  ObjectId,
  PersonId,
  PoolName,
  Sha256,
  TaskId,
  WorkerId,
} from './ids.js';
export {
  AccountOffer,
  Billing,
  CommandEnded,
  DispatchEnded,
  DispatchPayload,
  DispatchProgress,
  DispatchRequest,
  DispatchResult,
  Ended,
  EndRequest,
  EnvironmentCause,
  FailReason,
  Fence,
  IsolationReport,
  JobKind,
  JobPhase,
  JobResult,
  JobState,
  jobClaim,
  jobComplete,
  jobFail,
  jobHeartbeat,
  jobSubmit,
  LeaseBeat,
  LeasedJob,
  LeaseReply,
  Progress,
  queueCancel,
  queueList,
  queueRedrive,
  queueRequeue,
  SessionUsage,
  Usage,
  WorkerReport,
} from './jobs.js';
export { limits } from './limits.js';
export {
  CheckpointInput,
  CheckpointOutcome,
  checkpoint,
  getCurrentContext,
  PlanStep,
  setWorkPlan,
  WorkPlan,
} from './member.js';
export { isOutsideText, outsideText } from './outside-text.js';
export { Change, type Preview, Proposal } from './proposal.js';
export {
  EgressHost,
  GitRef,
  JobSettings,
  RepositoryCredential,
  RepositoryName,
  RepositoryView,
  RepositoryWanted,
  repoAdd,
  repoCheck,
  repoList,
  repoRemove,
  VariableName,
} from './repositories.js';
export { systemCodeOf } from './system-code.js';
export { CiApproval, ForgeKind, PullRequest, taskDiff, taskPush } from './task-out.js';
export {
  Activity,
  Attention,
  FileChange,
  MemberState,
  PauseReason,
  ProductStatus,
  TaskAction,
  TaskEvent,
  TaskIsolation,
  TaskResult,
  TaskSource,
  TaskStatus,
  TaskView,
  taskControl,
  taskEvents,
  taskGet,
  taskSearch,
  taskStart,
} from './tasks.js';
export {
  FileReference,
  FileReferences,
  isStorable,
  prose,
  proseBytes,
  RelativePath,
  storable,
  storableJson,
  utf8Length,
} from './text.js';
export { Budget, TaskUsage } from './usage.js';
export {
  AccountView,
  accountList,
  accountResume,
  quotaSet,
  status,
  WorkerView,
  workerDrain,
  workerInvite,
  workerList,
  workerPause,
  workerResume,
} from './workers.js';
export {
  HumanRequestKind,
  MemberCapabilities,
  MemberProvider,
  ProviderKind,
  WorkflowDocument,
  WorkflowMember,
} from './workflow-document.js';
export { WorkflowIssue, workflowGet, workflowImport, workflowSearch } from './workflows.js';
