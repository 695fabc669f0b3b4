import { z } from 'zod';
import { type LeasedJob, limits } from '#contracts';
import type { Accounts } from './accounts/accounts.js';
import { Beats } from './claim/beats.js';
import { ClaimLoop } from './claim/claim-loop.js';
import { Regain } from './claim/regain.js';
import { TokenTrace } from './claim/token-trace.js';
import type { Farm, TokenSource } from './controller/farm.js';
import type { EventLines } from './event-lines.js';
import type { EnrolledIdentity } from './identity/identity-file.js';
import type { Log } from './log.js';
import { MachineReport } from './machine-report.js';
import type { Instant } from './process/monotonic.js';
import type { SandboxPolicy } from './process/sandbox/index.js';
import type { Provider } from './provider/port.js';
import { CommandRun } from './session/command-run.js';
import { DispatchRun } from './session/dispatch-run.js';
import type { JobRun } from './session/job-run.js';
import type { RunNeeds } from './session/run-needs.js';
import { sessionEnvironment } from './session/session-environment.js';
import { SnapshotRun } from './session/snapshot-run.js';
import type { WorkerSettings } from './settings.js';
import { BundleCache } from './workspace/bundle-cache.js';
import { DiskKeeper } from './workspace/disk/disk-keeper.js';
import { LfsCache } from './workspace/lfs-cache.js';
import { salvageDeadBoots } from './workspace/salvage.js';
import { startOf, type WorkerHome } from './workspace/worker-home.js';
import type { Workspaces } from './workspace/workspaces.js';

interface WorkerNeeds {
  readonly settings: WorkerSettings;
  readonly identity: EnrolledIdentity;
  readonly boot: string;
  readonly home: WorkerHome;
  readonly farm: Farm;
  readonly tokens: TokenSource;
  readonly workspaces: Workspaces;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly accounts: Accounts;
  readonly sandboxes: SandboxPolicy;
  readonly gitVersion: string;
  readonly log: Log;
  readonly line: EventLines;
  /** The farm wants this worker to end (`worker drain`). */
  readonly onDrain: () => void;
}

/** How often a worker looks whether its providers can be used and its disk has room. */
const lookEveryMs = 60_000;

/** One worker: salvages what dead boots left, then beats, claims and runs until it is drained. */
export class FarmWorker {
  private readonly runs = new Set<JobRun>();
  private readonly beats: Beats;
  private readonly claims: ClaimLoop;
  private readonly regain: Regain;
  private readonly report: MachineReport;
  private readonly bundles: BundleCache;
  private readonly lfs: LfsCache;
  private readonly disk: DiskKeeper;
  private readonly startedAt = startOf(process.pid) ?? '';
  private readonly finished = new Set<() => void>();
  private heldSlots = 0;
  private draining = false;
  private looking: NodeJS.Timeout | undefined;

  constructor(private readonly needs: WorkerNeeds) {
    const { farm, settings, identity, providers, gitVersion, log, line, home, workspaces } = needs;
    this.bundles = new BundleCache(home.bundles, farm);
    this.lfs = new LfsCache(home.lfs, farm);
    this.disk = new DiskKeeper({
      home,
      workspaces,
      floorBytes: settings.diskFloorBytes,
      budgetBytes: settings.cacheBytes,
      log,
      line,
    });
    this.report = new MachineReport({
      enrolledLabels: identity.enrolled.labels,
      slots: this.slots,
      host: settings.host,
      gitVersion,
      refuses: () =>
        this.disk.short === undefined
          ? undefined
          : `Takes no new work: its disk is short of ${this.disk.short === 'bytes' ? 'room' : 'inodes'}.`,
      // a machine that takes no work has no room
      busy: () => (this.disk.short === undefined ? this.runs.size + this.heldSlots : this.slots),
      providers,
      accounts: needs.accounts,
      rungs: needs.sandboxes.rungs,
      log,
    });
    const { traceTokensFile } = settings;
    const trace = traceTokensFile === undefined ? undefined : new TokenTrace(traceTokensFile, needs.tokens, log);
    this.beats = new Beats({
      farm,
      leases: () => [...this.runs].map((run) => run.lease),
      report: () => this.report.now(),
      onWorker: (worker) => {
        this.claims.paused = worker.paused || worker.quarantined !== undefined;
        if (worker.drain && !this.draining) needs.onDrain();
        trace?.write([...this.runs].map((run) => run.lease));
      },
      onAnswering: () => this.claims.look(),
      log,
      line,
    });
    const accept = (job: LeasedJob, sentAt: Instant): void => this.accept(job, sentAt);
    this.regain = new Regain(farm, accept, () => this.claims.look(), log);
    this.claims = new ClaimLoop({
      farm,
      regain: this.regain,
      freeSlots: () => (this.disk.short === undefined ? this.slots - this.runs.size - this.heldSlots : 0),
      inDoubt: () => this.runs.size > 0 && !this.beats.isAnswered,
      accept,
      log,
    });
  }

  private get slots(): number {
    const { settings, identity } = this.needs;
    return Math.min(settings.slots, identity.enrolled.slot_ceiling);
  }

  /** Beats run from the beginning, so that a long salvage does not look like a dead machine. */
  async start(): Promise<void> {
    const { needs } = this;
    const { home, identity, farm, log, line, workspaces } = needs;
    await this.report.look();
    if (needs.accounts.trouble !== undefined) line('misconfigured', { detail: needs.accounts.trouble });
    this.looking = setInterval(() => void this.lookAround(), lookEveryMs).unref();
    this.beats.start();
    await salvageDeadBoots({ home, workspaces, worker: identity.enrolled.worker_id, farm, log, line });
    await this.lfs.dropDrafts();
    await this.disk.look();
    if (this.disk.short !== undefined) this.beats.soon();
    if (!this.draining) this.claims.start();
  }

  /** It rang: there may be work, or a word for what runs. */
  look(): void {
    this.claims.look();
    if (this.runs.size > 0) this.beats.heard();
  }

  /** Claims nothing more, ends the sessions, hands their work in, says goodbye. What takes too long is salvaged by the next start. */
  async drain(): Promise<void> {
    this.draining = true;
    this.needs.line('draining', { runs: this.runs.size });
    for (const run of this.runs) run.drain();
    await this.claims.stop();
    // one that was claimed meanwhile
    for (const run of this.runs) run.drain();
    await Promise.race([this.allFinished(), afterMs(this.needs.settings.drainMs)]);
    clearInterval(this.looking);
    if (this.runs.size === 0 && this.heldSlots === 0) await this.needs.workspaces.close();
    await this.beats.sayGoodbye();
  }

  private accept(job: LeasedJob, sentAt: Instant): void {
    const { needs } = this;
    this.beats.everyMs = Math.min(job.heartbeat_ms, limits.heartbeatMs);
    const regained = job.continues
      ? [...this.runs].find((run) => run.lease.job === job.id && run.lease.isStale)
      : undefined;
    if (regained !== undefined) {
      regained.lease.move(job, sentAt);
      return;
    }
    needs.line('claimed', { job: job.id, epoch: job.epoch, kind: job.kind, ...memberOf(job) });
    const runNeeds: RunNeeds = {
      worker: needs.identity.enrolled.worker_id,
      boot: needs.boot,
      started: this.startedAt,
      home: needs.home,
      farm: needs.farm,
      bundles: this.bundles,
      lfs: this.lfs,
      workspaces: needs.workspaces,
      folders: { roots: needs.settings.workspaceRoots, home: needs.home.path },
      diskFloorBytes: needs.settings.diskFloorBytes,
      sessionDiskBytes: needs.settings.sessionDiskBytes,
      providers: needs.providers,
      accounts: needs.accounts,
      regain: this.regain,
      environment: sessionEnvironment(process.env),
      sandboxes: needs.sandboxes,
      silenceMs: needs.settings.silenceMs,
      log: needs.log,
      line: needs.line,
      beatSoon: () => this.beats.soon(),
    };
    const run = runOf(job, sentAt, runNeeds);
    this.runs.add(run);
    if (this.draining) run.drain();
    void run.run().then((slot) => {
      this.runs.delete(run);
      if (slot === 'held') this.heldSlots += 1;
      for (const told of this.finished) told();
      void this.disk.look();
      // a free slot is news for the farm too: it rings those that have room
      this.beats.soon();
      this.claims.look();
    });
  }

  /** What may have changed beside us. */
  private async lookAround(): Promise<void> {
    const before = this.disk.short;
    await Promise.all([this.report.look(), this.disk.look()]);
    if (before === this.disk.short) return;
    this.beats.soon();
    this.claims.look();
  }

  private async allFinished(): Promise<void> {
    while (this.runs.size > 0) {
      await new Promise<void>((resolve) => {
        this.finished.add(resolve);
      });
      this.finished.clear();
    }
  }
}

function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

const OfMember = z.looseObject({ member_id: z.string() });

/** Whose Dispatch it is, for who watches. */
function memberOf({ payload }: LeasedJob): { readonly member?: string } {
  const member = OfMember.safeParse(payload).data?.member_id;
  return member === undefined ? {} : { member };
}

function runOf(job: LeasedJob, sentAt: Instant, needs: RunNeeds): JobRun {
  if (job.kind === 'command_run') return new CommandRun(job, sentAt, needs);
  if (job.kind === 'snapshot') return new SnapshotRun(job, sentAt, needs);
  return new DispatchRun(job, sentAt, needs);
}
