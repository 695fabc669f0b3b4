import { join } from 'node:path';
import {
  bundleCheckout,
  bundleFor,
  type Capture,
  type CaptureAsked,
  captureWorkspace,
  cloneWorkspace,
  importBundle,
  type ObjectStore,
  openStore,
  packFor,
} from '#git';
import { aRepository, type Content } from './repositories.js';
import { tempDir } from './temp-dir.js';

export const agent = { name: 'Agent', email: 'agent@example.test' };
export const when = new Date('2026-01-02T03:04:05Z');

export interface Workspace {
  readonly dir: string;
  readonly gitDir: string;
  readonly base: string;
  capture(more?: Partial<CaptureAsked>): Promise<Capture>;
  /** Captures and packs; throws when nothing changed. */
  pack(more?: Partial<CaptureAsked>): Promise<{ readonly path: string; readonly commit: string }>;
}

export interface Round {
  readonly store: ObjectStore;
  readonly base: string;
  workspace(base?: string): Promise<Workspace>;
}

/** A repository on its way: the user's checkout, the controller's store, and workspaces of it. */
export async function aRound(files?: Readonly<Record<string, Content>>): Promise<Round> {
  return roundOf(aRepository(files));
}

const known = new Map<string, Promise<Round>>();

/** One for all tests of a file that ask for the same files and only read from its store. */
export function aSharedRound(files: Readonly<Record<string, string>>): Promise<Round> {
  const key = JSON.stringify(files);
  const round = known.get(key) ?? aRound(files);
  known.set(key, round);
  return round;
}

export async function roundOf(repository: string): Promise<Round> {
  const folder = tempDir('round');
  const store = await openStore(join(folder, 'store'));
  const source = await bundleCheckout({ dir: repository, out: join(folder, 'source.bundle') });
  const { head } = await importBundle(store, source.bundle);
  return { store, base: head, workspace: (base = head) => workspaceOf(store, base) };
}

async function workspaceOf(store: ObjectStore, base: string): Promise<Workspace> {
  const folder = tempDir('workspace');
  const [dir, gitDir] = [join(folder, 'tree'), join(folder, 'own.git')];
  const bundle = await bundleFor(store, base);
  await cloneWorkspace({ bundle, base, dir, gitDir, name: 'member', author: agent, exclude: ['.longshore/t_1/'] });
  const capture = (more: Partial<CaptureAsked> = {}) =>
    captureWorkspace({
      dir,
      gitDir,
      base,
      message: 'Work',
      author: agent,
      when,
      taskDirectory: '.longshore/t_1',
      ...more,
    });
  return {
    dir,
    gitDir,
    base,
    capture,
    async pack(more = {}) {
      const captured = await capture(more);
      if (captured.kind !== 'captured') throw new Error('nothing was captured');
      const { commit, ownCommits, nested } = captured;
      const extra = [ownCommits, ...nested.flatMap(({ head, content }) => [head, content])].filter(
        (oid) => oid !== undefined,
      );
      const pack = await packFor({ gitDir, commit, extra, base, out: join(folder, `${commit}.pack`) });
      return { path: pack.path, commit };
    },
  };
}
