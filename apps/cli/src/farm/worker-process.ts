import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { makePrivateFolder } from '../services/private-file.js';
import { accountVariables } from './account-variables.js';
import { type NodeProcess, type ProcessLine, startNodeProcess } from './node-process.js';
import { programOf } from './programs.js';

export interface WorkerOptions {
  readonly name: string;
  /** Its own folder: identity, workspaces, cache, rescues. */
  readonly home: string;
  readonly url: string;
  readonly log: string;
  readonly slots?: number | undefined;
  /** A join ticket, given by stdin; needed once. */
  readonly ticket?: string | undefined;
  /** Wait while another process uses this identity, as a killed worker's does for a lease time (D16). */
  readonly wait?: boolean;
  /** More variables of the worker. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly onEvent?: (event: WorkerEvent) => void;
  /** Told as soon as the process is there: it may wait long for its farm before it is ready. */
  readonly onSpawn?: (process: NodeProcess) => void;
}

/** What a worker says on stdout about its work. */
export const WorkerEvent = z.looseObject({
  event: z.string(),
  job: z.string().optional(),
  epoch: z.int().optional(),
});
export type WorkerEvent = Readonly<z.output<typeof WorkerEvent>>;

export interface RunningWorker {
  readonly process: NodeProcess;
  readonly workerId: string;
  readonly name: string;
  readonly home: string;
}

const Ready = z.looseObject({ ready: z.literal(true), worker_id: z.string() });

/**
 * A worker that has joined once keeps its identity and needs no ticket. One whose ticket was refused has a key and no farm: it
 * needs the next ticket. What is wrong with a damaged file is told by the worker itself.
 */
export async function hasJoined(home: string): Promise<boolean> {
  const text = await readFile(join(home, 'identity.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  try {
    return 'enrolled' in Object(JSON.parse(text));
  } catch {
    return true;
  }
}

/** Starts a worker and waits until the farm knows it. FarmError when it does not come up, naming its log. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { name, home, url, log, slots, ticket, wait, env, onEvent, onSpawn } = options;
  await makePrivateFolder(home);
  const process = await startNodeProcess({
    name: `worker ${name}`,
    program: programOf('worker'),
    args: wait === true ? ['--wait'] : [],
    log,
    env: {
      LONGSHORE_WORKER_HOME: home,
      LONGSHORE_URL: url,
      LONGSHORE_WORKER_NAME: name,
      LONGSHORE_WORKER_SLOTS: slots === undefined ? undefined : String(slots),
      ...workspaceVariables(globalThis.process.env),
      ...(await accountVariables(home, globalThis.process.env)),
      ...env,
    },
    ...(ticket !== undefined && { input: `${ticket}\n` }),
    onLine: (line) => passOn(line, onEvent),
  });
  onSpawn?.(process);
  const ready = Ready.safeParse(await process.ready);
  if (ready.success) return { process, workerId: ready.data.worker_id, name, home };
  await process.stop(1_000);
  throw new FarmError('internal', `The worker ${name} said that it is ready and not who it is.`);
}

/** What the machine's owner says of workspaces and the disk. */
function workspaceVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const names = [
    'LONGSHORE_ISOLATION',
    'LONGSHORE_USER_NAMESPACE',
    'LONGSHORE_DISK_FLOOR_MB',
    'LONGSHORE_SESSION_DISK_MB',
    'LONGSHORE_CACHE_MB',
  ] as const;
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

function passOn(line: ProcessLine, onEvent: WorkerOptions['onEvent']): void {
  const event = WorkerEvent.safeParse(line);
  if (event.success) onEvent?.(event.data);
}
