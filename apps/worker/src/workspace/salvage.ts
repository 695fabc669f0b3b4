import { access, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Farm } from '../controller/farm.js';
import type { EventLines } from '../event-lines.js';
import { faultOf, type Log } from '../log.js';
import { endTree, findTrees } from '../process/tree-sweep.js';
import { captureDispatch, packOf } from './capture.js';
import { unmountBeneath } from './layers/mounts.js';
import { type DispatchFolder, folderAt, type OwnerMarker, readMarker, writeMarker } from './owner-marker.js';
import { sendPack } from './pack-road.js';
import { removeFolder } from './remove-folder.js';
import { isAlive, type WorkerHome } from './worker-home.js';
import type { Workspaces } from './workspaces.js';

interface SalvageNeeds {
  readonly home: WorkerHome;
  readonly workspaces: Workspaces;
  readonly worker: string;
  readonly farm: Farm;
  readonly log: Log;
  readonly line: EventLines;
}

/**
 * Before the first claim of a boot: ends what dead boots left running, and brings the work of each of their workspaces to the
 * farm as a rescue (D11, W10, W18). A workspace goes only when the farm has what is in it; what cannot be had is kept aside.
 * Whoever lives keeps what is his.
 */
export async function salvageDeadBoots(needs: SalvageNeeds): Promise<void> {
  const folders = (await readdir(needs.home.workspaces)).map((name) => folderAt(join(needs.home.workspaces, name)));
  const owned = await Promise.all(
    folders.map(async (plain) => {
      const marker = await readMarker(plain);
      return { folder: folderAt(plain.path, marker?.in_place), marker };
    }),
  );
  const living = owned.filter(({ marker }) => marker !== undefined && isAlive(marker.pid, marker.started));
  await endLeftTrees(
    needs,
    living.flatMap(({ marker }) => (marker === undefined ? [] : [marker])),
  );
  const stale = await needs.workspaces.clearStale((path) =>
    living.some(({ folder }) => path.startsWith(`${folder.path}/`)),
  );
  if (stale > 0) needs.log.info({ stale }, 'mounts of a dead boot were unmounted');
  for (const { folder, marker } of owned) {
    if (living.some((one) => one.folder === folder)) continue;
    await salvage(needs, folder, marker);
  }
}

async function endLeftTrees({ worker, log }: SalvageNeeds, living: readonly OwnerMarker[]): Promise<void> {
  for (const tree of findTrees(worker)) {
    if (living.some((marker) => marker.job === tree.job && marker.tree_epoch === tree.epoch)) continue;
    const end = await endTree(tree, 0);
    if (!end.empty)
      log.error({ job: tree.job, epoch: tree.epoch, survivors: end.survivors }, 'processes of a dead boot live on');
  }
}

async function salvage(needs: SalvageNeeds, folder: DispatchFolder, marker: OwnerMarker | undefined): Promise<void> {
  const { log, line, farm } = needs;
  if (marker === undefined) {
    // made, and the worker died before it wrote whose it is: nothing was materialised
    if (!(await exists(folder.work))) return remove(folder);
    return setAside(needs, folder, 'its owner marker is missing or damaged');
  }
  const facts = { job: marker.job, epoch: marker.epoch };
  if (marker.stage !== 'ready') return remove(folder);
  const end = await endTree({ worker: marker.worker, job: marker.job, epoch: marker.tree_epoch }, 0);
  if (!end.empty)
    return void log.error({ ...facts, survivors: end.survivors }, 'a workspace is still in use; it is left');
  try {
    const dated = { ...marker, captured_at: marker.captured_at ?? new Date().toISOString() };
    await writeMarker(folder, dated);
    await needs.workspaces.reopen(folder);
    const capture = await captureDispatch(folder, dated);
    if (capture.kind === 'captured') {
      const pack = await packOf(folder, marker.base, capture);
      const how = await sendPack(farm, { ...facts, commit: capture.commit, pack, jobToken: () => marker.job_token });
      if (how === 'stale') return await setAside(needs, folder, 'the farm did not keep its work');
      line('salvaged', { ...facts, commit: capture.commit, how });
      log.info({ ...facts, commit: capture.commit }, 'the work of a dead boot was brought to the farm');
    } else line('salvaged', { ...facts, how: 'no_changes' });
    await remove(folder);
  } catch (error) {
    log.error({ ...facts, fault: faultOf(error) }, 'a workspace could not be salvaged');
    await setAside(needs, folder, faultOf(error).detail);
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function remove(folder: DispatchFolder): Promise<void> {
  return removeFolder(folder.path);
}

/** Kept under `rescue/` for its owner to look at: nothing is lost by a guess. */
export async function setAside(
  { home, log, line, workspaces }: Pick<SalvageNeeds, 'home' | 'log' | 'line' | 'workspaces'>,
  folder: DispatchFolder,
  why: string,
): Promise<void> {
  const to = join(home.rescue, `${folder.path.split('/').at(-1) ?? 'workspace'}-${Date.now()}`);
  await workspaces
    .makePlain(folder)
    .catch((error: unknown) => log.error({ fault: faultOf(error) }, 'a workspace is kept aside in layers'));
  await unmountBeneath(folder.path);
  await rename(folder.path, to);
  line('retained', { path: to });
  log.warn({ path: to, why }, 'a workspace is kept aside');
}
