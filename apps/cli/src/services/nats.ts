import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { type NatsKeys, natsKeys } from './nats-keys.js';
import { type NatsProgramOptions, natsProgram } from './nats-program.js';
import { portTaken, requireFreePort } from './ports.js';
import { makePrivateFolder, readIfThere, writePrivateFile } from './private-file.js';
import { endProcess, findWithArgument, isAlive, type ProcessMark } from './process-mark.js';
import { spawnService } from './spawn-service.js';

export interface NatsOptions extends NatsProgramOptions {
  /** A loopback port; without it the last one is taken again when it is free, else any. */
  readonly port?: number;
}

export interface RunningNats {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly accountSeed: string;
  readonly accountPublicKey: string;
  /** The text of a creds file with which a controller connects. */
  readonly controllerCreds: string;
  /** True when a server that a crash had left was taken over. */
  readonly reused: boolean;
  stop(): Promise<void>;
}

interface Listening {
  readonly mark: ProcessMark;
  readonly port: number;
}

const readyWithinMs = 120_000;
const shutdown = [
  ['SIGTERM', 5_000],
  ['SIGKILL', 5_000],
] as const;
/** A ring carries no content (H25), so a message has no reason to be large. */
const payloadBytes = 4096;

/**
 * Starts nats-server on loopback over `<data>/nats`, without JetStream (H23), or takes over the one that a crash left alive.
 * Users are JWTs signed by the farm's account, so the server keeps no password and a minted user needs no restart.
 * Errors: port_taken; misconfigured when there is no nats-server.
 */
export async function startNats(options: NatsOptions): Promise<RunningNats> {
  const home = join(options.data, 'nats');
  await makePrivateFolder(home);
  const keys = await natsKeys(join(home, 'keys.json'));
  const left = await takeOver(home, keys, options.port);
  if (left !== undefined) return running(left, keys, true);
  const program = await natsProgram(options);
  if (options.port !== undefined) await requireFreePort(options.port, 'nats-server');
  const started = await launch(home, program, keys, options.port ?? (await lastPort(home)));
  await writePrivateFile(portIn(home), `${started.port}\n`);
  return running(started, keys, false);
}

const portIn = (home: string) => join(home, 'port');
const pidIn = (home: string) => join(home, 'nats.pid');
const configOf = (home: string) => join(home, 'nats.conf');
const logOf = (home: string) => join(home, 'server.log');

/** nats-server picks one itself and writes it to a file: no other program can come between. */
const anyPort = -1;

/** The port of the last time while it is free, so that machines which are away find the bell again. */
async function lastPort(home: string): Promise<number> {
  const port = Number(await readIfThere(portIn(home)));
  if (!Number.isInteger(port) || port <= 0) return anyPort;
  return await requireFreePort(port, 'nats-server').then(
    () => port,
    () => anyPort,
  );
}

/** A server left by a crash: reused when it is ours and answers, else ended by its pid. */
async function takeOver(home: string, keys: NatsKeys, asked: number | undefined): Promise<Listening | undefined> {
  const pid = Number(await readIfThere(pidIn(home)));
  const mark = pid > 0 ? findWithArgument(pid, configOf(home)) : undefined;
  if (mark === undefined) return undefined;
  const port = await readPortFile(home, pid);
  if (port !== undefined && (asked === undefined || asked === port) && (await answers(port, keys)))
    return { mark, port };
  await endProcess(mark, shutdown);
  return undefined;
}

async function answers(port: number, keys: NatsKeys): Promise<boolean> {
  try {
    const connection = await connect({
      servers: `127.0.0.1:${port}`,
      authenticator: credsAuthenticator(new TextEncoder().encode(keys.controllerCreds)),
      reconnect: false,
      timeout: 10_000,
    });
    await connection.close();
    return true;
  } catch {
    return false;
  }
}

async function launch(home: string, program: string, keys: NatsKeys, port: number): Promise<Listening> {
  await removePortFiles(home);
  await writePrivateFile(configOf(home), configuration(home, keys, port));
  const child = await spawnService([program, '--config', configOf(home)], logOf(home));
  const until = performance.now() + readyWithinMs;
  while (isAlive(child.mark) && performance.now() < until) {
    const listening = await readPortFile(home, child.mark.pid);
    if (listening !== undefined && (await answers(listening, keys))) return { mark: child.mark, port: listening };
    await pause(15);
  }
  await endProcess(child.mark, shutdown);
  const log = await child.saidSince();
  if (log.includes('address already in use') && port !== anyPort) throw portTaken(port, 'nats-server');
  throw new FarmError('unavailable', `nats-server did not start: ${log.trim().split('\n').slice(-3).join(' · ')}`, {
    hint: `Its log is ${logOf(home)}.`,
  });
}

function configuration(home: string, keys: NatsKeys, port: number): string {
  return [
    'server_name: longshore',
    'host: "127.0.0.1"',
    `port: ${port}`,
    `ports_file_dir: ${JSON.stringify(home)}`,
    `pid_file: ${JSON.stringify(pidIn(home))}`,
    `max_payload: ${payloadBytes}`,
    `operator: ${keys.operatorJwt}`,
    'resolver: MEMORY',
    `resolver_preload: { ${keys.accountPublicKey}: ${keys.accountJwt} }`,
    '',
  ].join('\n');
}

const PortFile = z.object({ nats: z.array(z.string()).min(1) });

async function readPortFile(home: string, pid: number): Promise<number | undefined> {
  const text = await readIfThere(join(home, `nats-server_${pid}.ports`));
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return Number(new URL(PortFile.parse(JSON.parse(text)).nats[0] ?? '').port);
  } catch {
    // not written to its end yet
    return undefined;
  }
}

async function removePortFiles(home: string): Promise<void> {
  for (const name of await readdir(home)) if (name.endsWith('.ports')) await rm(join(home, name), { force: true });
}

function running(listening: Listening, keys: NatsKeys, reused: boolean): RunningNats {
  return {
    url: `nats://127.0.0.1:${listening.port}`,
    port: listening.port,
    pid: listening.mark.pid,
    accountSeed: keys.accountSeed,
    accountPublicKey: keys.accountPublicKey,
    controllerCreds: keys.controllerCreds,
    reused,
    async stop() {
      await endProcess(listening.mark, shutdown);
    },
  };
}
