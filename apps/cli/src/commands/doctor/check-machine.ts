import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { limits } from '#contracts';
import { requireGit } from '#git';
import { failureOf } from '../../output/failure.js';
import { childEnvironment } from '../../services/child-environment.js';
import { postgresPrograms } from '../../services/postgres-programs.js';
import { broken, type Finding, ok, warning } from './check.js';

const oldestNode = 24;

export function checkNode(version: string = process.versions.node): Finding {
  const major = Number(version.split('.')[0]);
  if (major >= oldestNode) return ok('node', version);
  return broken(
    'node',
    version,
    `Node ${oldestNode} or newer: \`npm ci\` brings one, so start with \`npm start\` and \`npm run …\`.`,
  );
}

export async function checkGit(): Promise<Finding> {
  try {
    return ok('git', await requireGit());
  } catch (error) {
    const { message, hint } = failureOf(error);
    return broken('git', message, hint ?? 'Install git 2.38 or newer.');
  }
}

/** Runs each program of the embedded server once: a missing library or a wrong platform shows here and not at the first start. */
export async function checkPostgres(given: string | undefined): Promise<Finding> {
  if (given) return ok('postgres', 'the server that DATABASE_URL names is used');
  try {
    const { initdb, postgres } = await postgresPrograms();
    const options = { env: childEnvironment(), extendEnv: false, stdin: 'ignore', timeout: 20_000 } as const;
    await execa(initdb, ['--version'], options);
    const { stdout } = await execa(postgres, ['--version'], options);
    return ok('postgres', `embedded, ${stdout.replace(/^postgres /, '')}`);
  } catch (error) {
    return broken(
      'postgres',
      `the embedded server does not start: ${failureOf(error).message.split('\n')[0]}`,
      'Run `npm ci` again on this machine, or name a server with DATABASE_URL.',
    );
  }
}

export function checkNats(env: Readonly<Record<string, string | undefined>>, data: string): Finding {
  if (env.NATS_URL) return ok('nats', 'the server that NATS_URL names is used');
  const folders = [...(env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin'];
  const cache = join(env.XDG_CACHE_HOME ?? join(env.HOME ?? '', '.cache'), 'longshore/bin');
  const found = [...folders, join(data, 'bin'), cache].map((folder) => join(folder, 'nats-server')).find(existsSync);
  if (found !== undefined) return ok('nats', found);
  return warning(
    'nats',
    'no nats-server yet: the first start fetches a private copy',
    'Without a network: `apt-get install nats-server`, `brew install nats-server`, or NATS_URL.',
  );
}

export async function checkDataFolder(data: string): Promise<Finding> {
  const found = await stat(data).catch(() => undefined);
  if (found === undefined) return ok('data folder', `${data} (made at the first start)`);
  const mode = (found.mode & 0o777).toString(8);
  if ((found.mode & 0o077) === 0) return ok('data folder', `${data} (${mode})`);
  return broken('data folder', `${data} has mode ${mode}: others may look in`, `chmod 700 '${data}'`);
}

export async function checkDisk(data: string): Promise<Finding> {
  for (const folder of [data, join(data, '..'), '/']) {
    const disk = await statfs(folder).catch(() => undefined);
    if (disk === undefined) continue;
    const free = disk.bavail * disk.bsize;
    const told = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
    if (free > 4 * limits.diskFloorBytes) return ok('disk', told);
    const fix = 'Free some space, or put the state on another disk with --data.';
    return free > limits.diskFloorBytes ? warning('disk', told, fix) : broken('disk', told, fix);
  }
  return warning('disk', 'its free space can not be read', 'Look with `df`.');
}
