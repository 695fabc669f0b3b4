import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../apps/cli/src/services/postgres.js';
import { isAlive, markOf, ProcessMark } from '../../apps/cli/src/services/process-mark.js';
import { removeFolder } from '../../apps/worker/src/workspace/remove-folder.js';
import { endRecorded, record } from './recorded.js';
import { dropDatabases, makeTemplate } from './template.js';
import { announceRun, withClient } from './test-run.js';

/**
 * One PostgreSQL for the whole Jest run, in the process that starts the test workers; they learn its address by environment.
 * LONGSHORE_TEST_DATABASE_URL names a server to use instead: its user must be a superuser, everything made there is dropped.
 */
interface Shared {
  stop(): Promise<void>;
}

let shared: Promise<Shared> | undefined;

export async function startSharedServers(): Promise<void> {
  shared ??= start();
  await shared;
}

export async function stopSharedServers(): Promise<void> {
  const running = shared;
  shared = undefined;
  await (await running)?.stop();
}

async function start(): Promise<Shared> {
  await removeAbandoned();
  const folder = await claimFolder();
  const given = process.env.LONGSHORE_TEST_DATABASE_URL;
  const postgres = given === undefined ? await startPostgres({ data: folder }) : undefined;
  if (postgres !== undefined) record(folder, postgres.pid);
  const stop = async () => {
    await postgres?.stop();
    await endRecorded(folder);
    // workers that were killed leave their mounts
    await removeFolder(folder);
  };
  try {
    if (postgres !== undefined) await forgetSafety(postgres.url);
    const run = await makeTemplate(given ?? postgres?.url ?? '', folder);
    announceRun(run);
    return {
      async stop() {
        if (postgres === undefined) await dropDatabases(run);
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * This server goes with the run: what it would do to outlive a crash costs each commit a write to the disk. And nobody is turned away
 * who is slow to say who he is: a test process that loads its modules on a busy machine answers nobody meanwhile.
 */
async function forgetSafety(ownerUrl: string): Promise<void> {
  await withClient(ownerUrl, async (client) => {
    await client.query(`alter system set authentication_timeout = '10min'`);
    for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit'])
      await client.query(`alter system set ${setting} = off`);
    await client.query('select pg_reload_conf()');
  });
}

const folderPrefix = join(tmpdir(), 'longshore-test-');
const ownerOf = (folder: string) => join(folder, 'owner.json');

async function claimFolder(): Promise<string> {
  const folder = await mkdtemp(folderPrefix);
  await writeFile(ownerOf(folder), JSON.stringify(markOf(process.pid)));
  return folder;
}

/** A run that was killed could not clean up: its processes and its folder go now. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const folder = join(tmpdir(), name);
    if (!folder.startsWith(folderPrefix)) continue;
    const owner = await readFile(ownerOf(folder), 'utf8').catch(() => undefined);
    if (owner === undefined || isAlive(ProcessMark.parse(JSON.parse(owner)))) continue;
    await endRecorded(folder);
    // workers that were killed leave their mounts
    await removeFolder(folder);
  }
}
