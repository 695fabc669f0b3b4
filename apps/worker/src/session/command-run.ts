import { setTimeout as pause } from 'node:timers/promises';
import { FarmError, type LeasedJob, limits } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { faultOf, type Log } from '../log.js';
import type { GuardedTree, TreeCommand } from '../process/guarded-tree.js';
import { startGuarded } from '../process/guardian.js';
import type { Instant } from '../process/monotonic.js';
import { outputPathOf } from '../workspace/command-output.js';
import { GrowthWatch } from '../workspace/disk/growth-watch.js';
import { type DispatchFolder, writtenPaths } from '../workspace/owner-marker.js';
import { removeFolder } from '../workspace/remove-folder.js';
import { CommandLog } from './command-log.js';
import { type PreparedCommand, prepareCommand } from './command-run-preparation.js';
import { CommandTail } from './command-run-tail.js';
import { type CommandWalls, openCommandWalls } from './command-run-walls.js';
import { CommandWork } from './command-run-work.js';
import { type EndCause, Ending } from './ending.js';
import { failureOf } from './failure-report.js';
import { followLease } from './follow-lease.js';
import { type JobRun, openRun, type RunGround, type SlotAfter } from './job-run.js';
import { OutputRoad } from './output-road.js';
import type { RunNeeds } from './run-needs.js';
import { SecretFilter } from './secret-filter.js';
import { cutDetail } from './session-end.js';
import { type CommandEnd, giveBack, isolationReport, noWork, settle } from './settlement.js';

/** A command may say nothing for hours and be well; what lives is told so. */
const signOfLifeMs = 60_000;

/**
 * One Command Run on this machine. `started` is committed before anything is spawned, and a lease that is over is never regained:
 * the farm has called the command abandoned by then, so its processes are ended (H8). A pause of the Task is none of the command.
 */
export class CommandRun implements JobRun {
  readonly lease: HeldLease;
  private readonly ending = new Ending();
  private readonly needs: RunNeeds;
  private readonly log: Log;
  private readonly folder: DispatchFolder;
  private readonly say: RunGround['say'];
  private started = false;
  private work: CommandWork | undefined;
  /** There is work in the workspace that nobody has: the next start of the worker finds it. */
  private brokeOff = false;

  constructor(
    private readonly leased: LeasedJob,
    sentAt: Instant,
    needs: RunNeeds,
  ) {
    const { ending } = this;
    const ground = openRun(leased, sentAt, needs, ending);
    const { lease } = ground;
    ({ lease: this.lease, log: this.log, needs: this.needs, folder: this.folder, say: this.say } = ground);
    lease.on('end', ({ kind }) => {
      if (kind === 'cancel') ending.end('cancelled');
    });
    lease.on('stale', () => lease.lose());
  }

  /** D15: a command that was started is waited for, to the drain's limit; one that was not is given back. */
  drain(): void {
    if (!this.started) this.ending.end('drained');
  }

  async run(): Promise<SlotAfter> {
    try {
      return await this.runThrough();
    } catch (error) {
      this.log.error({ fault: faultOf(error) }, 'the run of the command broke off');
      this.brokeOff = this.work?.isKept === true;
      return 'free';
    } finally {
      if (!this.brokeOff) await this.clear();
    }
  }

  private async clear(): Promise<void> {
    await removeFolder(this.folder.path).catch((error: unknown) =>
      this.log.warn({ fault: faultOf(error) }, 'the workspace of a command could not be removed'),
    );
  }

  private async runThrough(): Promise<SlotAfter> {
    const { needs, lease, ending } = this;
    needs.beatSoon();
    if ((await lease.sure()) === 'lost') return 'free';
    let prepared: PreparedCommand;
    let walls: CommandWalls;
    try {
      prepared = await prepareCommand(needs, lease, this.folder, this.leased.payload, ending.signal);
      walls = await openCommandWalls(needs, this.folder, prepared);
    } catch (error) {
      return this.endUnstarted(error);
    }
    const { backend, reasons, prepare_ms } = prepared.isolation;
    this.say('workspace', { path: this.folder.work, backend, reasons, prepare_ms });
    const growth = await GrowthWatch.open({ paths: writtenPaths(this.folder), mostBytes: needs.sessionDiskBytes });
    try {
      return await this.launch(prepared, walls, growth);
    } finally {
      growth.close();
      await walls.close();
    }
  }

  private async endUnstarted(error: unknown): Promise<SlotAfter> {
    const { needs, lease, ending } = this;
    switch (ending.cause) {
      case 'lost':
        return 'free';
      case 'cancelled':
        await this.complete({ ended: 'cancelled', result: {} });
        return 'free';
      case 'drained':
        await giveBack(needs, lease, { reason: 'job_error', retryable: true, detail: 'the worker stops' });
        return 'free';
      default:
        this.log.warn({ fault: faultOf(error) }, 'the command could not be prepared');
        await giveBack(needs, lease, failureOf(error, 'prepare_failed'));
        return 'free';
    }
  }

  private async launch(prepared: PreparedCommand, walls: CommandWalls, growth: GrowthWatch): Promise<SlotAfter> {
    const { ending } = this;
    if (ending.cause !== undefined) return this.endUnstarted(undefined);
    this.started = true;
    if ((await this.commitStart()) === 'lost') return 'free';
    this.work = new CommandWork(this.needs, this.lease, this.folder, prepared, this.say);
    if (ending.cause === 'cancelled') return this.endUnstarted(undefined);
    let tree: GuardedTree | undefined;
    try {
      await this.work.begin();
      tree = await this.spawn(walls.enclose(commandOf(prepared, walls)));
    } catch (error) {
      this.log.warn({ fault: faultOf(error) }, 'the command could not be started');
      await this.complete({ ended: 'launch_failed', result: { detail: cutDetail(faultOf(error).detail) } });
      return 'free';
    }
    if (tree === undefined) return 'free';
    this.say('started');
    return this.follow(tree, prepared, growth, this.work);
  }

  /** Answered means committed: from here on nobody else runs it, whatever becomes of this machine (H8). */
  private async commitStart(): Promise<'held' | 'lost'> {
    const { lease, needs } = this;
    const { promise, resolve } = Promise.withResolvers<'held' | 'lost'>();
    lease.on('heard', (sent) => {
      if (sent.phase === 'started') resolve('held');
    });
    lease.on('lost', () => resolve('lost'));
    lease.phase = 'started';
    needs.beatSoon();
    return lease.isLost ? 'lost' : promise;
  }

  /** Nothing starts under a lease that is in doubt (I4). Undefined: it was lost. */
  private async spawn(command: TreeCommand): Promise<GuardedTree | undefined> {
    const { needs, lease } = this;
    for (let tries = 0; ; tries += 1) {
      if ((await lease.sure()) === 'lost') return undefined;
      try {
        return await startGuarded({
          command,
          marker: { worker: needs.worker, job: lease.job, epoch: lease.epoch },
          lease: lease.time,
          graceMs: limits.commandGraceMs,
        });
      } catch (error) {
        // its time ran out between the look and the start, and nothing was started: ask the farm again
        if (!(error instanceof FarmError) || error.code !== 'stale_lease' || tries >= 2) throw error;
        lease.doubt();
        needs.beatSoon();
      }
    }
  }

  private async follow(
    tree: GuardedTree,
    { request, payload, isolation, settings }: PreparedCommand,
    growth: GrowthWatch,
    work: CommandWork,
  ): Promise<SlotAfter> {
    const { needs, lease } = this;
    tree.stdin.end();
    followLease(tree, lease, {
      onState: (state, cause) => this.say(state, cause === undefined ? {} : { cause }),
      beatSoon: needs.beatSoon,
    });
    const alive = setInterval(() => lease.touch(), signOfLifeMs);
    const output = new OutputRoad(needs.farm, lease, this.log);
    const tail = new CommandTail();
    const file = work.isKept ? await CommandLog.open(this.folder, this.log) : undefined;
    const take = async (bytes: Buffer): Promise<void> => {
      tail.add(bytes);
      await file?.write(bytes);
      await output.writeBytes(bytes);
    };
    const read = Promise.all(
      [tree.stdout, tree.stderr].map((stream) => this.read(stream, new SecretFilter(settings?.secrets), take)),
    );
    let overLimit: string | undefined;
    const full = growth.over.then((detail) => {
      overLimit = detail;
      return 'exited' as const;
    });
    const why = await this.reachEnd(tree, request.timeout_seconds, full);
    const gentle = (why === 'timed_out' || why === 'cancelled') && tree.state !== 'frozen';
    const stopped = await tree.stop(gentle ? {} : { graceMs: 0 });
    clearInterval(alive);
    this.say('stopped', { ended: why, empty: stopped.empty });
    if (!stopped.empty) {
      await file?.close();
      this.brokeOff = work.isKept;
      return this.endUncertain(stopped.survivors);
    }
    if (why === 'lost' && !work.isKept) return 'free';
    await read;
    await file?.layIn(this.folder.work, outputPathOf(payload.task_directory, payload.command_id));
    this.enter(work.isKept ? 'capturing' : 'uploading');
    await output.flush();
    const exit = await tree.exited;
    const written = output.arrivedBytes;
    const ended = why === 'lost' ? 'cancelled' : why;
    const detail = overLimit ?? unstored(output.refusal);
    const state = await work.handIn({
      ended,
      result: {
        ...(why === 'exited' && exit.code !== null ? { exit_code: exit.code } : {}),
        ...(exit.signal === null ? {} : { signal: exit.signal }),
        output: {
          observed_bytes: tail.observedBytes,
          written_bytes: written,
          complete: written === tail.observedBytes,
        },
        tail: tail.text(settings?.secrets),
        ...(detail === undefined ? {} : { detail }),
        isolation: isolationReport(isolation, 0, undefined),
      },
    });
    if (state !== 'lost') this.say('completed', { ended, state });
    return 'free';
  }

  private async read(
    stream: AsyncIterable<unknown>,
    secrets: SecretFilter,
    take: (bytes: Buffer) => Promise<void>,
  ): Promise<void> {
    try {
      for await (const chunk of stream) {
        if (!(chunk instanceof Uint8Array)) continue;
        this.lease.touch();
        await take(secrets.pass(Buffer.from(chunk)));
      }
    } catch (error) {
      this.log.debug({ fault: faultOf(error) }, 'a pipe of the command broke');
    }
    await take(secrets.rest());
  }

  /** The first of: its own end, its time, what it may write, somebody's word. */
  private async reachEnd(
    tree: GuardedTree,
    seconds: number | undefined,
    full: Promise<'exited'>,
  ): Promise<'exited' | 'timed_out' | Wanted> {
    const over = new AbortController();
    const late = seconds === undefined ? never : pause(seconds * 1_000, 'timed_out' as const, { signal: over.signal });
    late.catch(() => undefined);
    try {
      const ends = [tree.exited.then(() => 'exited' as const), late, full, this.wanted()];
      const first = await Promise.race(ends);
      // what somebody wanted in the same moment stands: a lost lease says nothing any more
      return this.ending.cause === 'lost' ? 'lost' : first;
    } finally {
      over.abort();
    }
  }

  private async wanted(): Promise<Wanted> {
    const cause: EndCause = await this.ending.reached;
    return cause === 'lost' || this.ending.cause === 'lost' ? 'lost' : 'cancelled';
  }

  private async endUncertain(survivors: readonly number[]): Promise<SlotAfter> {
    this.log.error({ survivors }, 'processes of a command could not be ended: what they do is unknown');
    await giveBack(this.needs, this.lease, {
      reason: 'capture_failed',
      retryable: false,
      detail: 'effects_unknown: processes of the command could not be ended on this machine.',
    });
    return 'held';
  }

  private enter(phase: 'capturing' | 'uploading'): void {
    this.lease.phase = phase;
    this.needs.beatSoon();
  }

  private async complete(end: CommandEnd): Promise<void> {
    const settled = await settle(this.needs, this.lease, noWork, end);
    if (settled.how === 'completed') this.say('completed', { ended: end.ended, state: settled.state });
  }
}

type Wanted = 'cancelled' | 'lost';

const never = new Promise<never>(() => undefined);

/** The command went on to its end; the farm has the beginning of what it said. */
function unstored(refusal: FarmError | undefined): string | undefined {
  return refusal && cutDetail(`Not all of its output is stored: ${refusal.detail}`);
}

function commandOf({ request, cwd }: PreparedCommand, { environment }: CommandWalls): TreeCommand {
  const { command } = request;
  const [file = '', ...args] = command.kind === 'argv' ? command.argv : ['/bin/sh', '-c', command.command];
  return { file, args, cwd, environment };
}
