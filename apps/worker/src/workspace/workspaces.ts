import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError, type IsolationReport } from '#contracts';
import { cloneWorkspace, gitDirFrom, layAgentHead } from '#git';
import type { EventLines } from '../event-lines.js';
import { faultOf, type Log } from '../log.js';
import { machineClock } from '../process/monotonic.js';
import { KeptWorkspaces } from './kept-workspaces.js';
import { type Backend, type BackendProof, backends, copyTree, proveBackends, whyNoMount } from './layers/backends.js';
import { type LayerNote, readLayerNote, type SetupDone, writeLayerNote } from './layers/layer-note.js';
import {
  droppedOf,
  Layers,
  repositoryAt,
  type Setup,
  SetupFailed,
  seal,
  type TemplateScope,
  templateAt,
} from './layers/layers.js';
import { MountRefused, mountOverlay, mountsBeneath, unmountBeneath } from './layers/mounts.js';
import type { Taken } from './layers/shelf.js';
import { type LfsContents, layContents } from './lfs-contents.js';
import type { DispatchFolder } from './owner-marker.js';
import { removeFolder } from './remove-folder.js';
import { clearTaskDirectory } from './task-directory.js';
import type { WorkerHome } from './worker-home.js';

export type Isolation = Omit<IsolationReport, 'capture_ms' | 'bytes'>;

export interface WorkspaceWanted {
  readonly folder: DispatchFolder;
  readonly base: string;
  /** Pin of the submodules that the bundle brings along; they are laid out too. */
  readonly submodules?: string;
  /** The branch becomes `longshore/<name>`; commits of whoever works there are by that name. */
  readonly name: string;
  /** Names that the agent's git does not show, such as the Task directory. */
  readonly exclude: readonly string[];
  readonly isolation: { readonly required: readonly string[]; readonly allow_fallback?: boolean };
  /** A workspace that was kept for it is used again. */
  readonly assignment?: string;
  readonly scope: TemplateScope;
  readonly setup?: Setup;
  readonly lfs?: LfsContents;
  /** A file that holds the base; asked for only where this machine does not have it. */
  readonly bundle: () => Promise<string>;
  readonly signal: AbortSignal;
}

type InPlaceWanted = Pick<WorkspaceWanted, 'folder' | 'base' | 'bundle' | 'signal'>;

interface WorkspacesNeeds {
  readonly home: WorkerHome;
  /** What the machine's owner allows; all by default. */
  readonly allowed?: readonly Backend[];
  readonly log: Log;
  readonly line?: EventLines;
}

/**
 * All workspaces of one worker: made by the best backend that works here, above frozen layers where it can be; kept for their
 * Assignments; and put together again after a crash. Whatever was not used is told with its reason (W11).
 */
export class Workspaces {
  readonly layers: Layers;
  readonly kept: KeptWorkspaces;

  private constructor(
    private readonly needs: WorkspacesNeeds,
    private readonly proofs: readonly BackendProof[],
  ) {
    this.layers = new Layers(needs.home);
    this.kept = new KeptWorkspaces(needs.home.kept);
  }

  /** Tries each backend once, by doing it. */
  static async open(needs: WorkspacesNeeds): Promise<Workspaces> {
    const { allowed = backends, home } = needs;
    const proofs = (await proveBackends(home.path)).map((proof) =>
      allowed.includes(proof.backend)
        ? proof
        : { backend: proof.backend, missing: "the machine's owner allows others" },
    );
    return new Workspaces(needs, proofs);
  }

  /** What works here and what does not, with its reason. */
  get backends(): readonly BackendProof[] {
    return this.proofs;
  }

  /**
   * Makes the workspace of a Dispatch, private and standing on nothing that changes.
   *
   * @throws FarmError `isolation_unavailable` when none of the required backends is here · `source_refused` for a damaged bundle ·
   * `disk_full` · `timeout` · the abort's reason
   */
  async materialise(wanted: WorkspaceWanted): Promise<Isolation> {
    const since = machineClock.now();
    const { required, allow_fallback: mayFall = false } = wanted.isolation;
    const wishes = [...new Set(required)];
    const rungs = ladder(this.proofs, wishes, mayFall);
    const report = (how: Made, reasons: readonly string[]): Isolation => ({
      requested: wishes.length === 0 ? 'best' : wishes.join(','),
      fell_back: how.backend !== (wishes[0] ?? rungs[0]?.backend),
      reasons: [...reasons],
      prepare_ms: Math.round(machineClock.now() - since),
      ...how,
    });
    await mkdir(wanted.folder.state, { recursive: true, mode: 0o700 });
    const again = await this.takeKept(wanted, rungs);
    if (again !== undefined) return report(again, []);
    const known: readonly string[] = backends;
    const reasons = wishes.filter((wish) => !known.includes(wish)).map((wish) => `${wish}: no worker knows it`);
    for (const { backend, missing } of rungs) {
      const refused = missing ?? (await this.tryOne(backend, wanted, reasons));
      if (typeof refused !== 'string') return report(refused, reasons);
      reasons.push(`${backend}: ${refused}`);
    }
    throw new FarmError(
      'isolation_unavailable',
      `This worker has none of the required backends (${wishes.join(', ') || 'any'}). ${reasons.join('; ')}.`,
      { hint: 'Require another backend, allow falling back, or label the workers that have it.' },
    );
  }

  /**
   * Makes a folder of the owner's ready to be worked in as it is: it gets our GIT_DIR beside it and nothing is laid into it.
   *
   * @throws FarmError `source_refused` for a damaged bundle · `disk_full` · `timeout` · the abort's reason
   */
  async takeInPlace({ folder, base, bundle, signal }: InPlaceWanted): Promise<Isolation> {
    const since = machineClock.now();
    await mkdir(folder.state, { recursive: true, mode: 0o700 });
    await this.layers.useRepository({ base, submodules: undefined }, bundle, signal, (repository) =>
      gitDirFrom(repositoryAt(repository.path).git, folder.git),
    );
    return {
      requested: 'in_place',
      backend: 'in_place',
      fell_back: false,
      reasons: [],
      prepare_ms: Math.round(machineClock.now() - since),
      warm: true,
      setup: 'none',
    };
  }

  /**
   * After the farm has all that is in it: kept where its Assignment goes on, else removed. A disk that is short keeps nothing.
   */
  async letGo(folder: DispatchFolder, assignment: string | undefined): Promise<'kept' | 'removed'> {
    if (assignment !== undefined && !folder.isInPlace) {
      try {
        await this.kept.keep(folder, assignment);
        return 'kept';
      } catch (error) {
        this.needs.log.warn({ fault: faultOf(error) }, 'a workspace could not be kept for its Assignment');
      }
    }
    await removeFolder(folder.path);
    return 'removed';
  }

  /**
   * What stands under this workspace is in its place again, as it was before a crash. Nothing to do for one that stands alone.
   *
   * @throws MountRefused
   */
  async reopen(folder: DispatchFolder): Promise<void> {
    const note = await readLayerNote(folder.path);
    if (note?.backend !== 'overlay' || (await mountsBeneath(folder.work)).length > 0) return;
    await this.mount(folder, note);
  }

  /**
   * Before the first claim: mounts that a dead boot left are unmounted, and layers that it did not finish go. What stands under
   * a workspace whose owner lives stays as it is (W18). Answers how many were unmounted.
   */
  async clearStale(isLiving: (path: string) => boolean): Promise<number> {
    const stale = (await this.mounts()).filter((at) => !isLiving(at));
    for (const at of stale.toReversed()) await unmountBeneath(at);
    for (const shelf of [this.layers.repositories, this.layers.templates]) await shelf.dropDrafts();
    return stale.length;
  }

  /** This worker ends, and no workspace is in use: nothing of it stays mounted. */
  async close(): Promise<void> {
    for (const at of (await this.mounts()).toReversed()) await unmountBeneath(at);
  }

  /** For a person to look at without us: files in one folder, standing on nothing. */
  async makePlain(folder: DispatchFolder): Promise<void> {
    const note = await readLayerNote(folder.path);
    if (note?.backend !== 'overlay') return;
    await this.reopen(folder);
    const plain = join(folder.path, 'plain');
    await copyTree(folder.work, plain, 'auto');
    await unmountBeneath(folder.path);
    for (const path of [folder.work, folder.upper, folder.scratch]) await removeFolder(path);
    await rename(plain, folder.work);
    await writeLayerNote(folder.path, { backend: 'clone', setup: note.setup });
  }

  /** Ours alone: the worker's folder, or one in it, may be a disk that its owner mounted there. */
  private async mounts(): Promise<readonly string[]> {
    const { workspaces, kept, rescue, templates, repositories } = this.needs.home;
    const places = [workspaces, kept, rescue, templates, repositories];
    return (await mountsBeneath(this.needs.home.path)).filter((at) =>
      places.some((place) => at.startsWith(`${place}/`)),
    );
  }

  /** The kept workspace of the same Assignment: the base laid in, a fresh `.git`, ignored files as they were. */
  private async takeKept(wanted: WorkspaceWanted, rungs: readonly BackendProof[]): Promise<Made | undefined> {
    const { assignment, folder } = wanted;
    if (assignment === undefined) return undefined;
    try {
      if (!(await this.kept.take(assignment, folder))) return undefined;
      const note = await readLayerNote(folder.path);
      if (note === undefined || !rungs.some(({ backend, missing }) => backend === note.backend && !missing)) {
        await clearAway(folder);
        return undefined;
      }
      await this.reopen(folder);
      for (const name of wanted.exclude) await clearTaskDirectory(folder.work, name);
      await this.layAgain(wanted);
      return { backend: note.backend, warm: true, setup: note.setup };
    } catch (error) {
      // the way from the beginning is always open
      this.needs.log.warn({ fault: faultOf(error) }, 'a kept workspace could not be used again');
      await clearAway(folder);
      wanted.signal.throwIfAborted();
      return undefined;
    }
  }

  /** A sentence: why this backend does not work after all. */
  private async tryOne(backend: Backend, wanted: WorkspaceWanted, reasons: string[]): Promise<Made | string> {
    const { folder, base, submodules, bundle, signal } = wanted;
    await clearAway(folder);
    await mkdir(folder.work, { recursive: true, mode: 0o700 });
    try {
      return await this.layers.useRepository({ base, submodules }, bundle, signal, (repository) =>
        this.above(backend, repository, wanted, reasons),
      );
    } catch (error) {
      if (error instanceof MountRefused) return whyNoMount(error);
      throw error;
    }
  }

  private async above(
    backend: Backend,
    repository: Taken,
    wanted: WorkspaceWanted,
    reasons: string[],
  ): Promise<Made | string> {
    const { folder, base, submodules, scope, setup, lfs, signal } = wanted;
    await gitDirFrom(repositoryAt(repository.path).git, folder.git);
    const work = async (template: Taken, done: SetupDone): Promise<Made> => {
      await this.make(wanted, repository, { backend, repository: repository.key, template: template.key, setup: done });
      return { backend, warm: !template.fresh, setup: done };
    };
    const bare = (done: SetupDone): Promise<Made> =>
      // a checkout of its own costs a clone no more than a template and a copy of it
      backend === 'clone'
        ? this.checkOut(wanted, repository, done)
        : this.layers.useTemplate(repository, { scope, base, submodules, setup: undefined, lfs, signal }, (template) =>
            work(template, done),
          );
    if (setup === undefined) return bare('none');
    try {
      return await this.layers.useTemplate(
        repository,
        { scope, base, submodules, setup, lfs, signal },
        async (template) => {
          const dropped = await droppedOf(template);
          const told = `setup: ${dropped}`;
          if (dropped !== '' && !reasons.includes(told)) reasons.push(told);
          return work(template, 'done');
        },
      );
    } catch (error) {
      if (!(error instanceof SetupFailed)) throw error;
      const told = `setup: ${error.message}`;
      if (!reasons.includes(told)) reasons.push(told);
      return bare('failed');
    }
  }

  private async make(
    wanted: WorkspaceWanted,
    repository: Taken,
    note: LayerNote & { readonly template: string },
  ): Promise<void> {
    const { folder } = wanted;
    const { backend, template, setup } = note;
    const { tree, index } = templateAt(this.layers.templates.pathOf(template));
    if (backend === 'overlay') {
      await writeLayerNote(folder.path, note);
      await this.mount(folder, note);
      const { base, name, exclude } = wanted;
      const head = { dir: folder.work, base, name, author: authorOf(name), exclude, index };
      const { modules } = repositoryAt(repository.path);
      return layAgentHead({
        ...head,
        ...(wanted.submodules !== undefined && { submodules: { gitDir: folder.git, modules } }),
      });
    }
    await writeLayerNote(folder.path, { backend, setup });
    await copyTree(tree, folder.work, backend === 'reflink' ? 'always' : 'auto');
    return this.lay(wanted, repository);
  }

  private async checkOut(wanted: WorkspaceWanted, repository: Taken, setup: SetupDone): Promise<Made> {
    await writeLayerNote(wanted.folder.path, { backend: 'clone', setup });
    await this.lay(wanted, repository);
    return { backend: 'clone', warm: !repository.fresh, setup };
  }

  /** Into a workspace that was kept. Its submodules come out of the base's layer. */
  private async layAgain(wanted: WorkspaceWanted): Promise<void> {
    const { base, submodules, bundle, signal } = wanted;
    if (submodules === undefined) return this.lay(wanted);
    return this.layers.useRepository({ base, submodules }, bundle, signal, (repository) =>
      this.lay(wanted, repository),
    );
  }

  private async lay(
    { folder, base, name, exclude, bundle, submodules, lfs }: WorkspaceWanted,
    repository?: Taken,
  ): Promise<void> {
    await cloneWorkspace({
      bundle,
      base,
      dir: folder.work,
      gitDir: folder.git,
      name,
      author: authorOf(name),
      exclude,
      ...(repository && submodules !== undefined && { modules: repositoryAt(repository.path).modules }),
    });
    await layContents(lfs, { dir: folder.work, gitDir: folder.git, base, index: join(folder.work, '.git', 'index') });
  }

  private async mount(folder: DispatchFolder, { repository = '', template = '' }: LayerNote): Promise<void> {
    const lower = [
      repositoryAt(this.layers.repositories.pathOf(repository)).layer,
      templateAt(this.layers.templates.pathOf(template)).tree,
    ];
    for (const path of [folder.work, folder.upper, folder.scratch]) await mkdir(path, { recursive: true, mode: 0o700 });
    for (const path of lower) await seal(path);
    const { upper, scratch, work: at } = folder;
    await mountOverlay({ root: this.needs.home.path, lower, upper, scratch, at });
  }
}

type Made = Pick<Isolation, 'backend' | 'warm' | 'setup'>;

const authorOf = (name: string) => ({ name, email: `${name}@longshore.invalid` });

/** What was asked for comes first; the rest only where it may take its place. */
function ladder(proofs: readonly BackendProof[], wishes: readonly string[], mayFall: boolean): readonly BackendProof[] {
  if (wishes.length === 0) return proofs;
  const asked = wishes.flatMap((wish) => proofs.find(({ backend }) => backend === wish) ?? []);
  return mayFall ? [...asked, ...proofs.filter((proof) => !asked.includes(proof))] : asked;
}

/** What a backend that did not work out, or a kept workspace that is no use, left. */
async function clearAway(folder: DispatchFolder): Promise<void> {
  for (const path of [folder.work, folder.upper, folder.scratch, folder.git]) await removeFolder(path);
}
