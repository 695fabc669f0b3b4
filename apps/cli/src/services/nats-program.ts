import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
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
  const has = (name: string) => path.some((folder) => isExecutable(join(folder, name)));
  const mayInstall = options.install === true || (process.env.CI ?? '') !== '';
  const release = options.release ?? officialRelease();
  const debian = has('apt-get') && has('dpkg-deb');
  return [
    { when: debian, name: 'Debian package', get: () => inDraft((draft) => unpackDebian(draft), options) },
    { when: debian && mayInstall, name: 'apt-get install', get: installDebian },
    { when: has('brew'), name: 'Homebrew', get: () => installHomebrew() },
    {
      when: release !== undefined,
      name: 'official release',
      get: () =>
        inDraft(async (draft) => (release === undefined ? undefined : await fetchRelease(release, draft)), options),
    },
  ].filter((way) => way.when);
}

async function unpackDebian(draft: string): Promise<string> {
  await run('apt-get', ['download', program], draft);
  const packages = await run('find', ['.', '-name', '*.deb'], draft);
  await run('dpkg-deb', ['--extract', packages.trim(), 'unpacked'], draft);
  return join(draft, 'unpacked/usr/sbin', program);
}

async function installDebian(): Promise<string | undefined> {
  await run('apt-get', ['update']);
  await run('apt-get', ['install', '--yes', '--no-install-recommends', program]);
  return searchPath()
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

async function installHomebrew(): Promise<string> {
  await run('brew', ['install', program]);
  return join((await run('brew', ['--prefix'])).trim(), 'bin', program);
}

/** Works in a folder that goes afterwards, and keeps what was found as the private copy. */
async function inDraft(
  get: (draft: string) => Promise<string | undefined>,
  options: NatsProgramOptions,
): Promise<string | undefined> {
  const draft = await mkdtemp(join(tmpdir(), 'longshore-nats-'));
  try {
    const found = await get(draft);
    return found === undefined ? undefined : await keep(found, options);
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
