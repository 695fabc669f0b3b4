import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { FarmError } from '#contracts';
import { childEnvironment } from './child-environment.js';
import { fetchRelease, type NatsRelease, officialRelease } from './nats-release.js';

export interface NatsProgramOptions {
  /** The farm's data folder: a private copy goes to `<data>/bin`. */
  readonly data: string;
  /** Whether a system-wide installation by the package manager is wanted (`--install`); in CI it always may be. */
  readonly install?: boolean;
  /** Copies shared by the farms of this user; `~/.cache/longshore/bin` when absent. */
  readonly cache?: string;
  /** Folders to look in; the PATH and the usual sbin folders when absent. */
  readonly path?: readonly string[];
  /** The archive to fall back on; the official one of this platform when absent. */
  readonly release?: NatsRelease;
}

const program = 'nats-server';

/**
 * Finds nats-server, or gets it, in the order: PATH, an earlier private copy, Debian's package, Homebrew, the official release.
 * Answers its path. FarmError misconfigured, listing the ways, when none works.
 */
export async function natsProgram(options: NatsProgramOptions): Promise<string> {
  const path = options.path ?? searchPath();
  const present = [...path, ...privateFolders(options)].map((folder) => join(folder, program)).find(isExecutable);
  if (present !== undefined) return present;
  const tried: string[] = [];
  for (const way of ways(options, path)) {
    const found = await way.get().catch((error: unknown) => {
      tried.push(`${way.name}: ${reasonOf(error)}`);
    });
    if (found !== undefined) return found;
  }
  throw new FarmError('misconfigured', `There is no nats-server here and none could be had. ${tried.join('; ')}`, {
    hint:
      'Any one of these helps: `apt-get install nats-server`; `brew install nats-server`; the archive from the releases of ' +
      'nats-io/nats-server with its nats-server on the PATH; or NATS_URL naming a running server.',
  });
}

interface Way {
  readonly name: string;
  get(): Promise<string | undefined>;
}

function ways(options: NatsProgramOptions, path: readonly string[]): readonly Way[] {
  const locate = (name: string) => path.map((folder) => join(folder, name)).find(isExecutable);
  const [apt, dpkg, brew] = [locate('apt-get'), locate('dpkg-deb'), locate('brew')];
  const mayInstall = options.install === true || (process.env.CI ?? '') !== '';
  const release = options.release ?? officialRelease();
  const found: Way[] = [];
  if (apt !== undefined && dpkg !== undefined) {
    found.push({ name: 'Debian package', get: () => inDraft((draft) => unpackDebian(apt, dpkg, draft), options) });
  }
  if (apt !== undefined && mayInstall) found.push({ name: 'apt-get install', get: () => installDebian(apt, path) });
  if (brew !== undefined) found.push({ name: 'Homebrew', get: () => installHomebrew(brew) });
  if (release !== undefined) {
    found.push({ name: 'official release', get: () => inDraft((draft) => fetchRelease(release, draft), options) });
  }
  return found;
}

async function unpackDebian(apt: string, dpkg: string, draft: string): Promise<string> {
  await run(apt, ['download', program], draft);
  const archive = (await readdir(draft)).find((name) => name.endsWith('.deb')) ?? '';
  await run(dpkg, ['--extract', archive, 'unpacked'], draft);
  return join(draft, 'unpacked/usr/sbin', program);
}

async function installDebian(apt: string, path: readonly string[]): Promise<string | undefined> {
  await run(apt, ['update']);
  await run(apt, ['install', '--yes', '--no-install-recommends', program]);
  return path.map((folder) => join(folder, program)).find(isExecutable);
}

async function installHomebrew(brew: string): Promise<string> {
  await run(brew, ['install', program]);
  return join((await run(brew, ['--prefix'])).trim(), 'bin', program);
}

/** Works in a folder that goes afterwards, and keeps what was found as the private copy. */
async function inDraft(get: (draft: string) => Promise<string>, options: NatsProgramOptions): Promise<string> {
  const draft = await mkdtemp(join(tmpdir(), 'longshore-nats-'));
  try {
    return await keep(await get(draft), options);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function keep(found: string, options: NatsProgramOptions): Promise<string> {
  const [own = '', shared = ''] = privateFolders(options);
  const kept = await place(found, own);
  // For the next farm of this user; a read-only home is no reason to fail.
  await place(found, shared).catch(() => undefined);
  return kept;
}

async function place(found: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const target = join(folder, program);
  const draft = `${target}.${process.pid}.new`;
  await copyFile(found, draft);
  await chmod(draft, 0o700);
  // By rename: a running server keeps its own file, and two that fetch at once do not mix.
  await rename(draft, target);
  return target;
}

function privateFolders(options: NatsProgramOptions): readonly string[] {
  const shared = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  return [join(options.data, 'bin'), options.cache ?? join(shared, 'longshore/bin')];
}

function searchPath(): readonly string[] {
  const own = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...own, '/usr/local/sbin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return existsSync(path) && statSync(path).isFile();
  } catch {
    return false;
  }
}

async function run(command: string, args: readonly string[], cwd = tmpdir()): Promise<string> {
  const env = { ...childEnvironment(), DEBIAN_FRONTEND: 'noninteractive' };
  const { stdout } = await execa(command, args, { cwd, env, extendEnv: false, stdin: 'ignore', timeout: 300_000 });
  return stdout;
}

function reasonOf(error: unknown): string {
  if (error instanceof FarmError) return error.detail;
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n').slice(0, 3).join(' ');
}
