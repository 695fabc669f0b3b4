export {
  AccessTarget,
  AgentView,
  agentCreate,
  agentDisable,
  agentDoorPath,
  agentEnable,
  agentList,
  agentRevoke,
  agentRotate,
  exposureList,
  exposureSet,
  grantAdd,
  grantList,
  grantRevoke,
  OauthTokenReply,
} from './agents.js';
export { ApprovalState, ApprovalView, approvalDecide, approvalList } from './approvals.js';
export { AuditFault, auditList, auditVerify } from './audit.js';
export { bells, objectPaths } from './bells.js';
export { canonicalJson } from './canonical-json.js';
export { closedAddress } from './closed-addresses.js';
export {
  Command,
  CommandPurpose,
  CommandRunInput,
  CommandRunListed,
  CommandRunPayload,
  CommandRunRequest,
  CommandRunResult,
  CommandRunState,
  CommandRunView,
  commandRunCancel,
  commandRunGet,
  commandRunOutputRead,
  OutputCount,
  startCommandRun,
  Verification,
} from './command-runs.js';
export { configShow, ShownSetting } from './configuration.js';
export type { Contract, InputOf, OutputOf } from './contract.js';
export { contract } from './contract.js';
export { ChildAssignment, ChildMerge, DelegateInput, delegate } from './delegation.js';
export type { FarmErrorCode, FieldError, WhoActs } from './errors.js';
export { errorCodes, exitCodeOf, FarmError, isFarmErrorCode } from './errors.js';
export {
  HumanItem,
  HumanRequestInput,
  HumanRequestView,
  HumanResolution,
  humanRequestAnswerLink,
  humanRequestRespond,
  ItemResponse,
  LinkTicket,
  openHumanRequest,
  requestLinkPath,
} from './human-requests.js';
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
  AgentId,
  ApprovalId,
  AuthoredId,
  BootId,
  CommandId,
  DraftEtag,
  DraftId,
  Epoch,
  JobId,
  Label,
  Labels,
  LeaseId,
  newAgentId,
  newApprovalId,
  newCommandId,
  newDraftEtag,
  newDraftId,
  newId,
  newPersonId,
  newServiceId,
  newSessionId,
  newTaskId,
  newUndoReceiptId,
  newWorkerId,
  ObjectId,
  PersonId,
  PoolName,
  ServiceId,
  SessionId,
  Sha256,
  TaskId,
  UndoReceiptId,
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
  isReservedKind,
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
  cliClientId,
  csrfHeader,
  DeviceAuthorization,
  DeviceAuthorizationRequest,
  DeviceToken,
  DeviceTokenRequest,
  deviceGrant,
  LoginRequest,
  loginPaths,
  OAuthError,
  type OAuthErrorCode,
  PasswordRequest,
  SessionReply,
} from './login.js';
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
export {
  keyList,
  keyRotate,
  NewPassword,
  PersonName,
  PersonView,
  personCreate,
  personDisable,
  personEnable,
  personList,
  personResetPassword,
  personSetRole,
  RoleName,
  ServiceTokenView,
  SessionView,
  serviceTokenCreate,
  serviceTokenList,
  serviceTokenRevoke,
  sessionList,
  sessionRevoke,
  whoami,
} from './persons.js';
export { PluginView, pluginList } from './plugins.js';
export { Policy, policySet, policyShow } from './policy.js';
export { problemTypes } from './problems.js';
export { Change, ConfirmedReceipt, type Preview, Proposal } from './proposal.js';
export { addChild, MemberChange, MemberPatch, NewMember, ReplanResult, removeChild, updateChild } from './replan.js';
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
export { taskMemberSteer } from './steering.js';
export { systemCodeOf } from './system-code.js';
export { TaskMember, taskGet, taskOverview } from './task-get.js';
export { CiApproval, ForgeKind, PullRequest, taskDiff, taskPush } from './task-out.js';
export {
  Activity,
  Attention,
  FileChange,
  MemberState,
  OverviewPart,
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
  WebhookEvent,
  WebhookName,
  WebhookView,
  webhookAdd,
  webhookList,
  webhookRemove,
  webhookTest,
} from './webhooks.js';
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
  ExtensionMode,
  efforts,
  HumanRequestKind,
  MemberCapabilities,
  MemberProvider,
  ProviderKind,
  sandboxPairs,
  WorkflowDocument,
  WorkflowMember,
} from './workflow-document.js';
export {
  DraftEdit,
  DraftRef,
  workflowAuthoringOptions,
  workflowDraftCreate,
  workflowDraftDiscard,
  workflowDraftEdit,
  workflowDraftPublish,
  workflowDraftUndo,
  workflowDraftValidate,
  workflowRemove,
} from './workflow-drafts.js';
export { workflowSchema, workflowSchemaPath } from './workflow-schema.js';
export { workflowText } from './workflow-text.js';
export { LibraryState, WorkflowIssue, workflowGet, workflowImport, workflowSearch } from './workflows.js';
