import type {
  addChild,
  Contract,
  checkpoint,
  commandRunCancel,
  commandRunGet,
  commandRunOutputRead,
  delegate,
  getCurrentContext,
  humanRequestAnswerLink,
  humanRequestRespond,
  InputOf,
  OutputOf,
  openHumanRequest,
  Policy,
  Preview,
  RepositoryView,
  removeChild,
  repoAdd,
  repoCheck,
  repoList,
  setWorkPlan,
  startCommandRun,
  TaskResult,
  taskControl,
  taskDiff,
  taskEvents,
  taskGet,
  taskMemberSteer,
  taskPush,
  taskSearch,
  taskStart,
  updateChild,
  webhookAdd,
  webhookList,
  workflowAuthoringOptions,
  workflowDraftCreate,
  workflowDraftDiscard,
  workflowDraftEdit,
  workflowDraftPublish,
  workflowDraftUndo,
  workflowDraftValidate,
  workflowGet,
  workflowImport,
  workflowRemove,
  workflowSearch,
} from '#contracts';
import type { Kind, Machine } from '#jobs';
import type { Queries, Transaction } from '#store';
import type { LinkBearer } from './human-request/answer-link.js';
import type { LinkLook } from './human-request/look-by-link.js';
import type { Pusher } from './out/push-task.js';
import type { PolicyView } from './policy/keep-policy.js';
import type { Roads } from './roads/roads.js';
import type { Registrar } from './source/add-repository.js';
import type { AskedOrigin } from './source/check-repository.js';
import type { SourceUrl } from './source/source-url.js';
import type { WebhookUrl } from './webhook/judge-url.js';

/** Who acts on a Task from outside the team. */
export interface Actor {
  readonly principal: string;
}

/** Whose member call it is: the job token's claims and the worker token's subject and boot (H24). */
export interface MemberCaller {
  readonly job: string;
  readonly epoch: number;
  readonly lease_id: string;
  readonly worker: string;
  readonly boot: string;
  /** What the member door gave this call; a handover is found by it again (D2). */
  readonly callId: string;
}

/** What `tasks.get` shows of git, read outside its transaction. */
export interface PreparedView {
  readonly files_changed: TaskResult['files_changed'];
  readonly files_changed_total: number;
  readonly notes?: TaskResult['notes'];
}

/** What a member calls, in the caller's transaction. */
type MemberCall<C extends Contract> = (
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<C>,
) => Promise<OutputOf<C>>;

/** The team runtime, as a controller uses it. Functions with `tx` are parts of the caller's transaction. */
export interface Teams {
  /** The rules of the jobs of kind `dispatch`: for the queue. */
  readonly dispatchKind: Kind;
  /** The rules of the jobs of kind `command_run`: for the queue. */
  readonly commandRunKind: Kind;
  /** The rules of the jobs of kind `webhook`: for the queue. */
  readonly webhookKind: Kind;
  /** The rules of the jobs of kind `snapshot`: for the queue. */
  readonly snapshotKind: Kind;
  readonly roads: Roads;
  readonly workflows: {
    /** At a controller's start. */
    insertStarters(tx: Transaction): Promise<void>;
    import(tx: Transaction, input: InputOf<typeof workflowImport>): Promise<OutputOf<typeof workflowImport>>;
    /** What a publication would make current; nothing where the document does not hold. */
    previewImport(tx: Transaction, input: InputOf<typeof workflowImport>): Promise<Preview>;
    lockImport(tx: Transaction, input: InputOf<typeof workflowImport>): Promise<void>;
    /** Keeps its current revision what it is; nothing where there is none. */
    lock(tx: Transaction, workflow: string): Promise<void>;
    search(tx: Transaction, input: InputOf<typeof workflowSearch>): Promise<OutputOf<typeof workflowSearch>>;
    /** @throws not_found, conflict (the draft is at another etag) */
    get(tx: Transaction, input: InputOf<typeof workflowGet>): Promise<OutputOf<typeof workflowGet>>;
    options(tx: Transaction): Promise<OutputOf<typeof workflowAuthoringOptions>>;
    /** @throws not_found */
    remove(tx: Transaction, input: InputOf<typeof workflowRemove>): Promise<OutputOf<typeof workflowRemove>>;
    previewRemoval(tx: Transaction, input: InputOf<typeof workflowRemove>): Promise<Preview>;
  };
  /** Each of them: not_found for a draft that is gone, conflict for another version than the one that is shown (I16). */
  readonly drafts: {
    lock(tx: Transaction, draft: string): Promise<void>;
    lockBeginning(tx: Transaction, input: InputOf<typeof workflowDraftCreate>): Promise<void>;
    /** @throws also invalid_input, budget_exhausted, too_large */
    begin(tx: Transaction, input: InputOf<typeof workflowDraftCreate>): Promise<OutputOf<typeof workflowDraftCreate>>;
    previewBeginning(tx: Transaction, input: InputOf<typeof workflowDraftCreate>): Promise<Preview>;
    /** @throws also illegal_state, budget_exhausted, too_large */
    edit(tx: Transaction, input: InputOf<typeof workflowDraftEdit>): Promise<OutputOf<typeof workflowDraftEdit>>;
    previewEdit(tx: Transaction, input: InputOf<typeof workflowDraftEdit>): Promise<Preview>;
    undo(tx: Transaction, input: InputOf<typeof workflowDraftUndo>): Promise<OutputOf<typeof workflowDraftUndo>>;
    previewUndo(tx: Transaction, input: InputOf<typeof workflowDraftUndo>): Promise<Preview>;
    discard(
      tx: Transaction,
      input: InputOf<typeof workflowDraftDiscard>,
    ): Promise<OutputOf<typeof workflowDraftDiscard>>;
    previewDiscard(tx: Transaction, input: InputOf<typeof workflowDraftDiscard>): Promise<Preview>;
    validate(
      tx: Transaction,
      input: InputOf<typeof workflowDraftValidate>,
    ): Promise<OutputOf<typeof workflowDraftValidate>>;
    /** @throws also invalid_workflow */
    publish(
      tx: Transaction,
      input: InputOf<typeof workflowDraftPublish>,
    ): Promise<OutputOf<typeof workflowDraftPublish>>;
    previewPublication(tx: Transaction, input: InputOf<typeof workflowDraftPublish>): Promise<Preview>;
  };
  /** What an admin lets workflows and Tasks ask for at most. */
  readonly policy: {
    show(tx: Transaction): Promise<PolicyView>;
    set(tx: Transaction, by: string, policy: Policy): Promise<PolicyView>;
    preview(tx: Transaction, policy: Policy): Promise<Preview>;
  };
  readonly repositories: {
    /** Disk, outside any transaction: whether a Task may start from the URL. @throws source_refused, source_unavailable */
    prepareAdd(registrar: Registrar, input: InputOf<typeof repoAdd>): Promise<SourceUrl>;
    add(tx: Transaction, registrar: Registrar, input: InputOf<typeof repoAdd>, url: SourceUrl): Promise<RepositoryView>;
    /** Network, outside any transaction, half a minute at most. @throws not_found */
    prepareCheck(name: string, signal: AbortSignal): Promise<AskedOrigin>;
    check(tx: Transaction, asked: AskedOrigin): Promise<OutputOf<typeof repoCheck>>;
    list(tx: Transaction, input: InputOf<typeof repoList>): Promise<OutputOf<typeof repoList>>;
    /** @throws not_found, conflict (a Task needs it) */
    remove(tx: Transaction, name: string): Promise<void>;
    lock(tx: Transaction, name: string): Promise<void>;
    previewRemoval(tx: Transaction, name: string): Promise<Preview>;
  };
  readonly tasks: {
    /** Disk, outside any transaction: what is to be warned of the source. @throws invalid_task_path (files) */
    prepareStart(starter: Actor, input: InputOf<typeof taskStart>): Promise<readonly string[]>;
    /** Of the workflow and repository that are named. @throws not_found */
    previewStart(tx: Transaction, input: InputOf<typeof taskStart>): Promise<Preview>;
    start(
      tx: Transaction,
      actor: Actor,
      input: InputOf<typeof taskStart>,
      warned?: readonly string[],
    ): Promise<OutputOf<typeof taskStart>>;
    /** Git, outside any transaction: what `get` shows as changed. */
    prepareView(input: InputOf<typeof taskGet>): Promise<PreparedView>;
    get(tx: Transaction, input: InputOf<typeof taskGet>, prepared: PreparedView): Promise<OutputOf<typeof taskGet>>;
    search(tx: Transaction, input: InputOf<typeof taskSearch>): Promise<OutputOf<typeof taskSearch>>;
    /** Locks the Task, first of all locks (H12). @throws not_found */
    lock(tx: Transaction, task: string): Promise<void>;
    control(tx: Transaction, actor: Actor, input: InputOf<typeof taskControl>): Promise<OutputOf<typeof taskControl>>;
    /** What the action would do, for who must confirm it. @throws not_found, conflict */
    previewControl(tx: Transaction, input: InputOf<typeof taskControl>): Promise<Preview>;
    /** @throws not_found, conflict */
    steer(
      tx: Transaction,
      actor: Actor,
      input: InputOf<typeof taskMemberSteer>,
    ): Promise<OutputOf<typeof taskMemberSteer>>;
    previewSteer(tx: Transaction, input: InputOf<typeof taskMemberSteer>): Promise<Preview>;
    /** Waits, outside any transaction, for what becomes of the message. @throws conflict */
    followSteer(
      input: InputOf<typeof taskMemberSteer>,
      signal: AbortSignal,
      atMostMs?: number,
    ): Promise<OutputOf<typeof taskMemberSteer> | undefined>;
    /** Waits, outside any transaction, until there is news past `after`, or the time is over, or the caller has gone. */
    waitForNews(input: InputOf<typeof taskEvents>, signal: AbortSignal): Promise<void>;
    events(tx: Transaction, input: InputOf<typeof taskEvents>): Promise<OutputOf<typeof taskEvents>>;
    counts(tx: Transaction): Promise<Readonly<Record<'running' | 'paused' | 'completed' | 'cancelled', number>>>;
    attention(
      tx: Transaction,
      limit: number,
    ): Promise<readonly { task_id: string | null; kind: string; summary: string }[]>;
  };
  readonly requests: {
    /** @throws not_found, conflict, invalid_input */
    respond(
      tx: Transaction,
      actor: Actor,
      input: InputOf<typeof humanRequestRespond>,
    ): Promise<OutputOf<typeof humanRequestRespond>>;
    previewResponse(tx: Transaction, input: InputOf<typeof humanRequestRespond>): Promise<Preview>;
    /** Changes nothing, however often a link is opened. */
    look(queries: Queries, ticket: string): Promise<LinkLook>;
    /** @throws ticket_invalid, unauthenticated, not_found, conflict, invalid_input */
    answerByLink(
      tx: Transaction,
      bearer: LinkBearer,
      input: InputOf<typeof humanRequestAnswerLink>,
    ): Promise<OutputOf<typeof humanRequestAnswerLink>>;
  };
  /** Who is told of what happens (H16, H44). */
  readonly webhooks: {
    /** Network, outside any transaction: whether the farm may call the URL. @throws webhook_refused */
    prepareAdd(input: InputOf<typeof webhookAdd>): Promise<WebhookUrl>;
    /** @throws conflict */
    add(
      tx: Transaction,
      actor: Actor,
      input: InputOf<typeof webhookAdd>,
      url: WebhookUrl,
    ): Promise<OutputOf<typeof webhookAdd>>;
    list(tx: Transaction): Promise<OutputOf<typeof webhookList>>;
    lock(tx: Transaction, name: string): Promise<void>;
    previewRemoval(tx: Transaction, name: string): Promise<Preview>;
    /** @throws not_found */
    remove(tx: Transaction, name: string): Promise<void>;
    /** Network, outside any transaction, for ten seconds at most. @throws not_found, webhook_refused, webhook_failed */
    test(name: string, signal: AbortSignal): Promise<number>;
  };
  readonly commands: {
    /** @throws not_found */
    get(tx: Transaction, input: InputOf<typeof commandRunGet>): Promise<OutputOf<typeof commandRunGet>>;
    /** @throws not_found, conflict */
    cancel(
      tx: Transaction,
      actor: Actor,
      input: InputOf<typeof commandRunCancel>,
    ): Promise<OutputOf<typeof commandRunCancel>>;
    previewCancel(tx: Transaction, input: InputOf<typeof commandRunCancel>): Promise<Preview>;
    /** Files, outside any transaction. @throws not_found, cursor_reset_required */
    readOutput(input: InputOf<typeof commandRunOutputRead>): Promise<OutputOf<typeof commandRunOutputRead>>;
  };
  readonly out: {
    /** Git, outside any transaction. @throws not_found */
    diff(input: InputOf<typeof taskDiff>): Promise<OutputOf<typeof taskDiff>>;
    /** The origin, outside any transaction; safe to repeat (A12.22). */
    /** What would stand at the origin. @throws not_found, conflict */
    previewPush(tx: Transaction, input: InputOf<typeof taskPush>): Promise<Preview>;
    push(pusher: Pusher, input: InputOf<typeof taskPush>, signal: AbortSignal): Promise<OutputOf<typeof taskPush>>;
  };
  readonly members: {
    context(tx: Transaction, caller: MemberCaller): Promise<OutputOf<typeof getCurrentContext>>;
    readonly setPlan: MemberCall<typeof setWorkPlan>;
    readonly checkpoint: MemberCall<typeof checkpoint>;
    readonly delegate: MemberCall<typeof delegate>;
    readonly askHuman: MemberCall<typeof openHumanRequest>;
    readonly startCommand: MemberCall<typeof startCommandRun>;
    readonly addChild: MemberCall<typeof addChild>;
    readonly updateChild: MemberCall<typeof updateChild>;
    readonly removeChild: MemberCall<typeof removeChild>;
  };
  /** Each of them re-derives from rows what is to be done; any controller, at any time, also twice at once. */
  readonly sweeps: {
    /** D19. Waits for what it began, a sweep's time by default; what takes longer goes on. Answers the Tasks that moved since. */
    prepareTasks(atMostMs?: number): Promise<readonly string[]>;
    /** D4: Tasks of which no lane can go on pause; lanes that were left open go on. Answers the Tasks touched. */
    retestLanes(): Promise<readonly string[]>;
    /** D21: Waves whose children have all reported. Answers the Tasks that went on. */
    joinWaves(): Promise<readonly string[]>;
    /** While others of the Wave are at work: the join has less to merge. Nothing depends on it. */
    mergeAhead(wave: string): Promise<void>;
    /** Requests whose time is over. Answers the Tasks that they are of. */
    expireRequests(): Promise<readonly string[]>;
    /** D15: runs whose warm machine is gone, or takes no work, go to any. Answers them. */
    freeRuns(takeWork: readonly string[]): Promise<readonly string[]>;
    /** Opens and closes the attention item `no_machine`. */
    noteMissingMachines(live: readonly Machine[]): Promise<void>;
    /** Waiting jobs go under an account that can run them; answers the jobs that were moved. */
    placeAccounts(): Promise<readonly string[]>;
    /** Sends the messages that are due. Waits for what it began, a sweep's time by default. Answers how many it began. */
    deliverWebhooks(atMostMs?: number): Promise<number>;
    /** Deliveries and links that nobody asks for any more. */
    forgetDeliveries(): Promise<void>;
    /** Uploads of an hour ago that no Task names. Answers how many. */
    expireSources(): Promise<number>;
    /** Mirrors that no Task used for two weeks. Answers how many. */
    expireMirrors(): Promise<number>;
  };
  /** Breaks off what waits for an origin or a receiver. After the sweeps have stopped. */
  close(): Promise<void>;
}
