import { type DispatchPayload, FarmError, type LeasedJob, limits } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { faultOf, type Log } from '../log.js';
import { type Handover, MemberCalls } from '../member-door/member-calls.js';
import type { MemberExposure } from '../member-door/member-tools.js';
import type { Instant } from '../process/monotonic.js';
import type { ProviderEvent, ProviderFailure } from '../provider/events.js';
import type { ProviderSession } from '../provider/port.js';
import { withoutSecrets } from '../provider/without-secrets.js';
import { GrowthWatch } from '../workspace/disk/growth-watch.js';
import { checkFileReferences } from '../workspace/file-references.js';
import { type DispatchFolder, writtenPaths } from '../workspace/owner-marker.js';
import { OwnerNotes } from '../workspace/owner-notes.js';
import { removeFolder } from '../workspace/remove-folder.js';
import { DispatchWork, type HandedEnd } from './dispatch-work.js';
import { type EndCause, Ending } from './ending.js';
import { failureOf, refusalOf } from './failure-report.js';
import { followLease } from './follow-lease.js';
import { type JobRun, openRun, type RunGround, type SlotAfter } from './job-run.js';
import { OutputRoad } from './output-road.js';
import { type Prepared, payloadOf, prepare } from './preparation.js';
import { refuseAccount } from './refuse-account.js';
import { refusalText, reminderText } from './reminder.js';
import type { RunNeeds } from './run-needs.js';
import { cutDetail, endOfFailure, type SessionEnd } from './session-end.js';
import { rungOf, SessionPlace } from './session-place.js';
import { SessionWatch } from './session-watch.js';
import { giveBack, noWork, settle } from './settlement.js';
import { type Resumption, startSession } from './start-session.js';
import { UsageSum } from './usage-sum.js';

/** A budget is kept as close as this. */
const tellEveryMs = 1_000;

/** What the member may call; an older controller does not say. */
function exposureOf({ tools, human_kinds: humanKinds = [] }: DispatchPayload): MemberExposure | undefined {
  return tools === undefined ? undefined : { tools, humanKinds };
}

/** What all processes of one session share. */
interface Ground {
  readonly prepared: Prepared;
  readonly work: DispatchWork;
  readonly output: OutputRoad;
  readonly usage: UsageSum;
  readonly growth: GrowthWatch;
}

type Ran = { readonly slot: SlotAfter } | { readonly end: HandedEnd; readonly reminders: number };

/**
 * One Dispatch on this machine, from the claim to the farm's answer: prepare, run the provider, stop it and prove its tree empty,
 * capture, upload, complete, and only then delete.
 */
export class DispatchRun implements JobRun {
  readonly lease: HeldLease;
  private readonly ending = new Ending();
  private readonly needs: RunNeeds;
  private readonly log: Log;
  private readonly folder: DispatchFolder;
  private readonly say: RunGround['say'];
  private session: ProviderSession | undefined;
  private dispatchWork: DispatchWork | undefined;
  private telling: NodeJS.Timeout | undefined;

  constructor(
    private readonly leased: LeasedJob,
    sentAt: Instant,
    needs: RunNeeds,
  ) {
    const { ending } = this;
    const ground = openRun(leased, sentAt, needs, ending);
    const { lease } = ground;
    ({ lease: this.lease, log: this.log, needs: this.needs, folder: this.folder, say: this.say } = ground);
    lease.on('end', ({ kind }) => ending.end(kind === 'cancel' ? 'cancelled' : 'paused'));
    lease.on('stale', () => this.afterStale());
    lease.on('moved', () => this.afterMove());
  }

  /** The worker stops: the session is ended, its work handed in, a successor goes on elsewhere. */
  drain(): void {
    this.ending.end('drained');
  }

  /** Never throws: what went wrong was told to the farm or is in the log, and the work is kept. */
  async run(): Promise<SlotAfter> {
    try {
      return await this.runThrough();
    } catch (error) {
      this.log.error(
        { fault: faultOf(error) },
        'the run broke off; its workspace stays for the next start of the worker',
      );
      // its lease is beaten no more: nothing of it may run on
      await this.session?.stop({ graceMs: 0 });
      return 'free';
    }
  }

  private async runThrough(): Promise<SlotAfter> {
    const { needs, lease, ending } = this;
    needs.beatSoon();
    if ((await lease.sure()) === 'lost') return 'free';
    let prepared: Prepared;
    try {
      const payload = this.payload();
      rungOf(needs, payload);
      prepared = await prepare(needs, lease, this.folder, payload, ending.signal);
    } catch (error) {
      return this.endUnstarted(error);
    }
    const { backend, fell_back, reasons, prepare_ms } = prepared.isolation;
    this.say('workspace', { path: this.folder.work, backend, fell_back, reasons, prepare_ms });
    return this.work(prepared);
  }

  private payload(): DispatchPayload {
    if (this.leased.kind !== 'dispatch') throw new FarmError('invalid_input', 'This worker runs Dispatches only.');
    return payloadOf(this.leased.payload);
  }

  /** Nothing ran: no work to keep. */
  private async endUnstarted(error: unknown): Promise<SlotAfter> {
    const { needs, lease, ending } = this;
    const { cause } = ending;
    if (cause === undefined) {
      this.log.warn({ fault: faultOf(error) }, 'the Dispatch could not be prepared');
      await giveBack(needs, lease, failureOf(error, 'prepare_failed'));
    } else if (cause !== 'lost') {
      const settled = await settle(needs, lease, noWork, { ended: cause, result: {} });
      if (settled.how === 'completed') this.say('completed', { ended: cause, state: settled.state });
    }
    await removeFolder(this.folder.path);
    return 'free';
  }

  /** One session, in one process or several: what ended without its last word goes on in the next (D1). */
  private async work(prepared: Prepared): Promise<SlotAfter> {
    const { needs, lease } = this;
    const notes = new OwnerNotes(this.folder, prepared.marker, this.log);
    const work = new DispatchWork(needs, lease, this.folder, prepared, notes, this.say);
    this.dispatchWork = work;
    const ground: Ground = {
      prepared,
      work,
      output: new OutputRoad(needs.farm, lease, this.log),
      usage: new UsageSum({ sinceEpoch: lease.epoch, account: prepared.account, prices: needs.accounts.prices }),
      growth: await GrowthWatch.open({ paths: writtenPaths(this.folder), mostBytes: needs.sessionDiskBytes }),
    };
    try {
      return await this.workOn(ground);
    } finally {
      ground.growth.close();
    }
  }

  private async workOn(ground: Ground): Promise<SlotAfter> {
    const { prepared } = ground;
    for (let again: Resumption | undefined; ; ) {
      const ran = await this.runSession(ground, again);
      if ('slot' in ran) return ran.slot;
      const { end, reminders } = ran;
      again = end.ended === 'silent' && end.goesOn ? this.resumption(prepared, reminders) : undefined;
      if (again !== undefined) continue;
      const handed = await ground.work.handIn(end, {
        output: ground.output,
        usage: ground.usage,
        sessionRef: this.session?.ref,
        resume: (refused) => this.resumption(prepared, reminders, refused),
        cause: () => this.ending.cause,
      });
      if ('slot' in handed) return handed.slot;
      again = handed;
    }
  }

  /** How the session goes on after its process: not past its reminders, nor when somebody wants its end. */
  private resumption({ provider }: Prepared, reminders: number, refused?: FarmError): Resumption | undefined {
    const ref = this.session?.ref;
    const count = reminders + 1;
    if (!provider.resumes || ref === undefined || count > limits.handoverReminders) return undefined;
    if (this.ending.cause !== undefined || this.lease.isLost) return undefined;
    return { ref, count, text: refused === undefined ? reminderText(count) : refusalText(count, refused) };
  }

  private async runSession(ground: Ground, again: Resumption | undefined): Promise<Ran> {
    const { needs, lease, folder, ending } = this;
    const closing = new AbortController();
    const secrets = secretsIn(ground.prepared);
    const calls = new MemberCalls({
      exposure: exposureOf(this.payload()),
      farm: needs.farm,
      lease,
      checkFiles: (paths) => checkFileReferences(folder.work, paths),
      keep: (handover) => ground.work.keepHandover(handover),
      secrets,
      signal: closing.signal,
    });
    let place: SessionPlace | undefined;
    let session: ProviderSession;
    try {
      place = await SessionPlace.open(needs, folder, ground.prepared, calls);
      const { notes } = ground.work;
      session = await startSession({ needs, lease, folder, ending, notes, place }, ground.prepared, again);
    } catch (error) {
      await place?.close();
      if (again === undefined) return { slot: await this.endUnstarted(error) };
      this.log.warn({ fault: faultOf(error) }, 'the session could not go on');
      return { end: unresumed(ending.cause), reminders: again.count };
    }
    this.session = session;
    if (again !== undefined) this.say('reminded', { count: again.count });
    followLease(session.tree, lease, {
      onState: (state, cause) => this.say(state, cause === undefined ? {} : { cause }),
      beatSoon: needs.beatSoon,
    });
    const watch = new SessionWatch({
      session,
      calls,
      lease,
      ending,
      overLimit: ground.growth.over,
      silenceMs: needs.silenceMs,
      reminded: again?.count ?? 0,
      secrets,
      onEvent: (event) => {
        ground.output.write(event);
        this.noteEvent(event, ground.usage);
      },
      onReminder: (count) => this.say('reminded', { count }),
      onAcknowledged: () => needs.beatSoon(),
    });
    const first = await watch.end();
    const stopped = await this.stop(session, first, secrets);
    closing.abort(new Error('The session is over.'));
    await place.close();
    if (!stopped) return { slot: 'held' };
    await watch.drained();
    // taken while the session was being stopped: it stands (D6)
    const end = calls.handover === undefined ? first : orHandover(first, calls.handover);
    const { reminders } = watch;
    const { account } = ground.prepared;
    if (end.ended === 'machine' && watch.failedBy === 'auth' && account !== undefined)
      await refuseAccount(needs, account.name, end.detail);
    if (end.ended !== 'refused') return { end, reminders };
    if (again === undefined) return { slot: await this.endRefused(end.failure, ground.prepared) };
    return { end: unresumed(ending.cause, end.failure), reminders };
  }

  /** The farm says that the lease is over: what runs stands still until the next answer (D11). */
  private afterStale(): void {
    const { lease, needs } = this;
    this.say('stale');
    // nothing was begun that could go on
    if (this.dispatchWork === undefined) lease.lose();
    else needs.regain.add(lease);
  }

  /** Given back: the work goes on under the next epoch, and what is left of it after a crash belongs there. */
  private afterMove(): void {
    const { lease, needs } = this;
    this.log.setBindings({ epoch: lease.epoch });
    this.say('continues');
    void this.dispatchWork?.notes.note({ epoch: lease.epoch, lease_id: lease.fence.lease_id, job_token: lease.token });
    needs.beatSoon();
  }

  private async stop(session: ProviderSession, end: SessionEnd, secrets: readonly string[]): Promise<boolean> {
    // Whose turn is over has nothing left to tidy up: no grace in which a forgotten child could still write (W15). And a frozen
    // tree must not run past its lease once more.
    const turnIsOver = !['cancelled', 'paused', 'drained', 'silent'].includes(end.ended);
    const atOnce = turnIsOver || session.tree.state === 'frozen';
    const tree = await session.stop(atOnce ? { graceMs: 0 } : {});
    this.say('stopped', { ended: end.ended, empty: tree.empty });
    if ('detail' in end || end.ended === 'refused') {
      const stderr = withoutSecrets(session.diagnostics(), secrets).slice(-2_000);
      this.log.warn({ ended: end.ended, stderr }, 'the session ended early');
    }
    if (tree.empty) return true;
    this.log.error(
      { survivors: tree.survivors },
      'processes could not be ended: what they do is unknown, nothing is captured',
    );
    await giveBack(this.needs, this.lease, {
      reason: 'capture_failed',
      retryable: false,
      detail: 'effects_unknown: processes of the session could not be ended on this machine.',
    });
    return false;
  }

  /** A limit of the account spends no try of the Dispatch: it waits, or another account stands in. */
  private async endRefused(failure: ProviderFailure, { account }: Prepared): Promise<SlotAfter> {
    const { needs, lease } = this;
    const end = endOfFailure(failure);
    if (end.ended === 'limited') {
      const result = { retry_after_ms: end.retryAfterMs, detail: cutDetail(end.detail) };
      const settled = await settle(needs, lease, noWork, { ended: 'limited', result });
      if (settled.how === 'completed') this.say('completed', { ended: 'limited', state: settled.state });
    } else if (failure.class === 'auth' && account !== undefined) {
      await giveBack(needs, lease, await refuseAccount(needs, account.name, failure.detail));
    } else await giveBack(needs, lease, refusalOf(failure));
    await removeFolder(this.folder.path);
    return 'free';
  }

  private noteEvent(event: ProviderEvent, usage: UsageSum): void {
    if (event.type === 'usage') {
      usage.add(event);
      this.lease.report({ usage: usage.total });
      this.tellSoon();
    }
    if (event.type === 'session') {
      this.lease.sessionRef = event.ref;
      this.lease.phase = 'started';
      this.needs.beatSoon();
      this.say('started', { session: event.ref });
      return;
    }
    const { type, ...facts } = event;
    this.say('step', { step: type, ...facts });
  }

  /** Not for each request of a quick session a beat of its own, but before the farm's own beat. */
  private tellSoon(): void {
    this.telling ??= setTimeout(() => {
      this.telling = undefined;
      this.needs.beatSoon();
    }, tellEveryMs).unref();
  }
}

/** What the session was given and nobody else may see (H35). */
function secretsIn({ settings, account }: Prepared): readonly string[] {
  return [...Object.values(settings?.secrets ?? {}), ...Object.values(account?.secrets ?? {})];
}

/** A session that had begun and could not go on has said all that it will: its work is handed in. */
function unresumed(cause: EndCause | undefined, failure?: ProviderFailure): HandedEnd {
  if (cause !== undefined) return { ended: cause };
  const end = failure === undefined ? undefined : endOfFailure(failure);
  if (end?.ended === 'limited') return end;
  return { ended: 'silent', detail: `The session could not go on: ${failure?.detail ?? 'it did not start again.'}` };
}

function orHandover(end: SessionEnd, handover: Handover): SessionEnd {
  return end.ended === 'lost' || end.ended === 'refused' ? end : { ended: 'handover', handover };
}
