import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { cloneWorkspace, gitDirFrom, keepBase, layFiles } from '#git';
import { readIfThere } from '../../private-file.js';
import { contentsKey, type LfsContents, layContents } from '../lfs-contents.js';
import { removeFolder } from '../remove-folder.js';
import type { WorkerHome } from '../worker-home.js';
import { bindReadOnly, mountsBeneath } from './mounts.js';
import { Shelf, type Taken } from './shelf.js';

/** How the setup command of a repository ended. The reason is for people and for the member. */
type SetupEnd = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export interface Setup {
  readonly command: string;
  /** Runs it in that folder, in the sandbox of the Dispatch: what it runs is a stranger's (H32). */
  readonly run: (folder: string, signal: AbortSignal) => Promise<SetupEnd>;
}

/** Whose templates these are: no one else's Dispatch is laid above them (H32). */
export interface TemplateScope {
  readonly project: string;
  readonly origin: string;
  /** The sandbox that the setup command runs in: its rung, and what it has inside that may change what the command leaves. */
  readonly sandbox: string;
}

/** A base, and the pin of the submodules that come with it, where they do: another repository, another template. */
interface BaseAsked {
  readonly base: string;
  readonly submodules: string | undefined;
}

/** The setup command of a repository failed: there is no template to freeze. */
export class SetupFailed extends Error {}

interface FilesAsked {
  readonly scope: TemplateScope;
  readonly base: string;
  readonly submodules: string | undefined;
  readonly setup: Setup | undefined;
  readonly lfs: LfsContents | undefined;
  readonly signal: AbortSignal;
}

/**
 * The frozen layers under the workspaces of one worker: the repository of a base, by commit, and its files with what the setup
 * command made of them, by project, origin, tree, command and sandbox (H32); each also by the submodules that came along, files
 * by the contents of git-lfs too.
 */
export class Layers {
  readonly repositories: Shelf;
  readonly templates: Shelf;

  constructor(home: Pick<WorkerHome, 'repositories' | 'templates'>) {
    this.repositories = new Shelf(home.repositories);
    this.templates = new Shelf(home.templates);
  }

  /** @throws FarmError `source_refused` for a damaged bundle · `disk_full` · `timeout` */
  useRepository<T>(
    { base, submodules }: BaseAsked,
    bundle: () => Promise<string>,
    signal: AbortSignal,
    work: (repository: Taken) => Promise<T>,
  ): Promise<T> {
    const make = async (draft: string): Promise<void> => {
      const { tree } = await keepBase({
        bundle,
        base,
        gitDir: repositoryAt(draft).git,
        layer: repositoryAt(draft).layer,
        modules: repositoryAt(draft).modules,
      });
      await writeFile(repositoryAt(draft).tree, tree);
    };
    const key = submodules === undefined ? base : `${base}-${submodules}`;
    return this.repositories.use(key, make, signal, work);
  }

  /** @throws SetupFailed · FarmError `disk_full` · `timeout` */
  async useTemplate<T>(repository: Taken, asked: FilesAsked, work: (template: Taken) => Promise<T>): Promise<T> {
    const tree = await readFile(repositoryAt(repository.path).tree, 'utf8');
    const { submodules, scope, setup, lfs } = asked;
    // a tree names its submodules and the contents of git-lfs, and only with them are their files in the template
    const key = templateKey({ ...scope, tree, command: setup?.command, submodules, lfs: contentsKey(lfs) });
    return this.templates.use(key, (draft) => this.fill(draft, repository, asked), asked.signal, work);
  }

  /** Files of the base; then the setup command; then the base again, so that only what the repository ignores is left of it. */
  private async fill(draft: string, repository: Taken, { base, setup, lfs, signal }: FilesAsked): Promise<void> {
    const { tree, index } = templateAt(draft);
    const own = join(draft, 'git');
    await gitDirFrom(repositoryAt(repository.path).git, own);
    if (setup !== undefined) {
      // many setup commands ask git something; what they leave in `.git` is no part of the template
      const { modules } = repositoryAt(repository.path);
      const asWho = { name: 'setup', author: farmAuthor };
      await cloneWorkspace({ bundle: noBundle, base, dir: tree, gitDir: own, modules, ...asWho });
      await layContents(lfs, { dir: tree, gitDir: own, base, index: join(tree, '.git', 'index') });
      const end = await setup.run(tree, signal);
      signal.throwIfAborted();
      if (!end.ok) throw new SetupFailed(end.reason);
      await removeFolder(join(tree, '.git'));
    }
    const dropped = await layFiles({ dir: tree, gitDir: own, base, index });
    if (setup !== undefined) await writeFile(templateAt(draft).dropped, JSON.stringify(droppedText(dropped)));
    await layContents(lfs, { dir: tree, gitDir: own, base, index });
    await rm(own, { recursive: true, force: true });
  }
}

const farmAuthor = { name: 'Longshore', email: 'longshore@longshore.invalid' };

const noBundle = (): Promise<string> =>
  Promise.reject(new FarmError('internal', 'The repository of a base does not hold it.'));

/** Makes a frozen folder unwritable by its path as well, where this worker may mount. */
export async function seal(path: string): Promise<void> {
  if ((await mountsBeneath(path)).length === 0) await bindReadOnly(path);
}

export const repositoryAt = (path: string) => ({
  /** Ours: bare. */
  git: join(path, 'git'),
  /** Holds the `.git` that agents see. */
  layer: join(path, 'layer'),
  /** A repository for each submodule, by commit. */
  modules: join(path, 'modules'),
  tree: join(path, 'tree'),
});

export const templateAt = (path: string) => ({
  tree: join(path, 'tree'),
  index: join(path, 'index'),
  /** What to say of files that the setup command made and the template does not keep. */
  dropped: join(path, 'dropped'),
});

const droppedNamed = 5;

function droppedText(paths: readonly string[]): string {
  if (paths.length === 0) return '';
  const more = paths.length > droppedNamed ? ` and ${paths.length - droppedNamed} more` : '';
  const named = paths.slice(0, droppedNamed).map((path) => path.slice(0, 200));
  return `files that it made and the repository does not ignore are not in the workspace: ${named.join(', ')}${more}. Add them to .gitignore to keep them`;
}

/** Empty where there is nothing to say, as of a template of before. */
export async function droppedOf(template: Taken): Promise<string> {
  const text = await readIfThere(templateAt(template.path).dropped);
  return text === undefined ? '' : z.string().catch('').parse(JSON.parse(text));
}

interface TemplateFacts extends TemplateScope {
  readonly tree: string;
  readonly command: string | undefined;
  readonly submodules: string | undefined;
  readonly lfs: string | undefined;
}

function templateKey({ project, origin, tree, command, sandbox, submodules, lfs }: TemplateFacts): string {
  // a setup command that is not there and an empty one are the same; each part is quoted, so that none can reach into the next,
  // and what came along is named, so that neither is taken for the other
  const along = submodules === undefined && lfs === undefined ? [] : [{ submodules, lfs }];
  const facts = JSON.stringify([project, origin, tree, command ?? '', sandbox, ...along]);
  return createHash('sha256').update(facts).digest('hex').slice(0, 40);
}
