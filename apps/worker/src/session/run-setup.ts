import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { startGuarded } from '../process/guardian.js';
import type { SandboxRung } from '../process/sandbox/index.js';
import { GrowthWatch } from '../workspace/disk/growth-watch.js';
import type { Surroundings } from '../workspace/materialise.js';
import type { DispatchFolder } from '../workspace/owner-marker.js';
import { CommandTail } from './command-run-tail.js';
import { followLease } from './follow-lease.js';
import { insideEnvironment } from './inside-environment.js';
import type { RepositorySettings } from './job-settings.js';
import type { RunNeeds } from './run-needs.js';
import { openRunSandbox } from './run-sandbox.js';
import { SecretFilter } from './secret-filter.js';
import { setupSandbox } from './setup-sandbox.js';

/** What a job's walls are made of. */
export interface JobWalls {
  readonly rung: SandboxRung;
  readonly hosts: readonly string[];
}

/** Whose templates a job may be laid above, and the setup command that fills them (H32); what git-lfs keeps. */
export function groundOf(
  needs: RunNeeds,
  lease: HeldLease,
  folder: DispatchFolder,
  settings: RepositorySettings,
  walls: JobWalls,
  signal: AbortSignal,
): Pick<Surroundings, 'scope' | 'setup' | 'submodules' | 'lfs'> {
  if (settings === null) return {};
  const { project, origin, setup, submodules, lfs } = settings;
  return {
    scope: { project, origin, sandbox: setupSandbox(settings, walls) },
    ...(submodules !== undefined && { submodules }),
    ...(lfs !== undefined && {
      lfs: {
        oids: lfs,
        fileOf: (pointer) => needs.lfs.get({ job: lease.job, jobToken: () => lease.token, signal }, pointer),
      },
    }),
    ...(setup !== null && {
      setup: {
        command: setup,
        run: (tree, signal) => runSetup(needs, lease, { folder, tree, settings, walls, command: setup, signal }),
      },
    }),
  };
}

interface SetupAsked {
  readonly folder: DispatchFolder;
  /** Where it runs: a template that is being made, or the workspace. */
  readonly tree: string;
  readonly settings: RepositorySettings;
  readonly walls: JobWalls;
  readonly command: string;
  readonly signal: AbortSignal;
}

type SetupEnd = Awaited<ReturnType<NonNullable<Surroundings['setup']>['run']>>;

/** In the walls of the job, under a guardian, with a time; nothing of it runs on when it is over. */
async function runSetup(needs: RunNeeds, lease: HeldLease, asked: SetupAsked): Promise<SetupEnd> {
  const { folder, tree, settings, walls, command, signal } = asked;
  const state = join(folder.path, 'setup');
  await mkdir(state, { recursive: true, mode: 0o700 });
  const sandbox = await openRunSandbox(
    needs,
    { ...folder, work: tree, state },
    {
      ...walls,
      readOnlyWorkspace: false,
      memberDoor: false,
    },
  );
  const over = new AbortController();
  const growth = await GrowthWatch.open({ paths: [tree, folder.path], mostBytes: needs.sessionDiskBytes });
  try {
    const inside = await insideEnvironment(state, settings);
    signal.throwIfAborted();
    const running = await startGuarded({
      command: sandbox.enclosure(
        inside({
          file: '/bin/sh',
          args: ['-c', command],
          cwd: tree,
          environment: { ...needs.environment, ...sandbox.environment },
        }),
      ),
      marker: { worker: needs.worker, job: lease.job, epoch: lease.epoch },
      lease: lease.time,
      graceMs: limits.commandGraceMs,
    });
    running.stdin.end();
    followLease(running, lease, { onState: () => undefined, beatSoon: needs.beatSoon });
    const tail = new CommandTail();
    const read = Promise.all(
      [running.stdout, running.stderr].map((stream) => collect(stream, new SecretFilter(settings?.secrets), tail)),
    );
    const late = pause(limits.setupSeconds * 1_000, 'late' as const, { signal: over.signal });
    late.catch(() => undefined);
    const aborted = new Promise<'aborted'>((resolve) => {
      signal.addEventListener('abort', () => resolve('aborted'), { once: true, signal: over.signal });
    });
    const alive = setInterval(() => lease.touch(), signOfLifeMs);
    const how = await Promise.race([running.exited, late, aborted, growth.over.then((told) => ({ told }))]);
    clearInterval(alive);
    const stopped = await running.stop({ graceMs: 0 });
    if (!stopped.empty) return { ok: false, reason: 'processes of the setup command could not be ended' };
    signal.throwIfAborted();
    await read;
    if (typeof how === 'object' && 'told' in how) return { ok: false, reason: how.told };
    if (how === 'late')
      return { ok: false, reason: `the setup command ran for ${limits.setupSeconds} s and was ended` };
    const { code, signal: killed } = await running.exited;
    if (code === 0) return { ok: true };
    return {
      ok: false,
      reason: `the setup command ended with ${code ?? killed}: ${lastLines(tail.text(settings?.secrets))}`,
    };
  } finally {
    over.abort();
    growth.close();
    await sandbox.close();
  }
}

const signOfLifeMs = 60_000;
const reasonChars = 512;

async function collect(stream: AsyncIterable<unknown>, secrets: SecretFilter, tail: CommandTail): Promise<void> {
  try {
    for await (const chunk of stream) if (chunk instanceof Uint8Array) tail.add(secrets.pass(Buffer.from(chunk)));
  } catch {
    // the pipe broke with the tree
  }
  tail.add(secrets.rest());
}

const lastLines = (text: string): string => text.trim().slice(-reasonChars);
