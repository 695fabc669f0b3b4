import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { DispatchPayload, DispatchRequest, FarmError, objectPaths } from '#contracts';
import { requireGit } from '#git';
import type { HeldLease } from '../claim/held-lease.js';
import { jsonOf } from '../controller/ask.js';
import { roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { faultOf } from '../log.js';
import type { Provider, SessionAccount } from '../provider/port.js';
import { layCommandOutput } from '../workspace/command-output.js';
import { requireRoom } from '../workspace/disk-room.js';
import { judgeFolder } from '../workspace/in-place-folder.js';
import { type Isolation, type LaidOut, materialise, type Surroundings } from '../workspace/materialise.js';
import { type DispatchFolder, folderAt, type OwnerMarker, writeMarker } from '../workspace/owner-marker.js';
import {
  clearTaskDirectory,
  hideTaskDirectory,
  renderTaskDirectory,
  writeWorkspaceNote,
} from '../workspace/task-directory.js';
import { layTeamWork } from '../workspace/team-work.js';
import { fetchJobSettings, type RepositorySettings } from './job-settings.js';
import type { RunNeeds } from './run-needs.js';
import { groundOf } from './run-setup.js';
import { wallsOf } from './session-place.js';

export interface Prepared {
  readonly payload: DispatchPayload;
  readonly provider: Provider;
  readonly account?: SessionAccount;
  readonly program?: string;
  readonly arguments?: readonly string[];
  readonly request: DispatchRequest;
  readonly settings: RepositorySettings;
  readonly isolation: Isolation;
  readonly marker: OwnerMarker;
  /** The tree of the member's notes as they were laid in. */
  readonly laidNotes?: string;
}

const InPlacePayload = z.looseObject({ in_place: z.looseObject({ path: z.string() }).optional() });

/** The folder of one Dispatch at one epoch; its workspace may be elsewhere. */
export function folderOf(needs: RunNeeds, lease: HeldLease, payload: unknown): DispatchFolder {
  const inPlace = InPlacePayload.safeParse(payload).data?.in_place?.path;
  return folderAt(join(needs.home.workspaces, `${lease.job}-${lease.epoch}`), inPlace);
}

/** @throws FarmError `invalid_input` */
export function payloadOf(payload: unknown): DispatchPayload {
  const parsed = DispatchPayload.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new FarmError('invalid_input', 'The payload of the Dispatch has another shape than this worker knows.', {
    hint: 'Bring controller and worker to the same version.',
  });
}

/**
 * All that must stand before the provider starts: room, provider, prompt, workspace.
 *
 * @throws FarmError what is missing · the abort's reason
 */
export async function prepare(
  needs: RunNeeds,
  lease: HeldLease,
  folder: DispatchFolder,
  payload: DispatchPayload,
  signal: AbortSignal,
): Promise<Prepared> {
  await requireRoom(needs.home.path, needs.diskFloorBytes);
  const chosen = await usableProvider(needs, payload);
  signal.throwIfAborted();
  await rm(folder.path, { recursive: true, force: true });
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  const marker = markerOf(needs, lease, payload);
  await writeMarker(folder, marker);
  const request = await fetchRequest(needs, lease, signal);
  const settings = await fetchJobSettings(needs, lease, signal);
  const ground = groundOf(needs, lease, folder, settings, wallsOf(needs, payload, settings), signal);
  const isolation = await layOut(needs, lease, folder, payload, signal, ground);
  await renderTaskDirectory(folder.work, payload, request);
  if (folder.isInPlace) await hideTaskDirectory(folder.work, payload.task_directory);
  await writeWorkspaceNote(folder.work, payload.task_directory, isolation);
  const { job } = lease;
  const road = { farm: needs.farm, job, jobToken: () => lease.token, signal };
  const laidNotes = await layTeamWork(road, folder, payload);
  await layCommandOutput(road, folder, payload).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof FarmError) || error.code === 'stale_lease') throw error;
    // what the member is told of the command holds its end, and it can work without the rest
    needs.log.warn({ fault: faultOf(error) }, 'what the command said could not be laid into the workspace');
  });
  signal.throwIfAborted();
  const ready: OwnerMarker = { ...marker, stage: 'ready' };
  await writeMarker(folder, ready);
  return { ...chosen, payload, request, settings, isolation, marker: ready, ...(laidNotes && { laidNotes }) };
}

type Chosen = Pick<Prepared, 'provider' | 'account' | 'program' | 'arguments'>;

/** The provider, on the account that the farm chose; the built-in one has none. */
async function usableProvider({ providers, accounts }: RunNeeds, payload: DispatchPayload): Promise<Chosen> {
  const { provider: name, account, model } = payload;
  const provider = providers.get(name);
  if (provider === undefined) {
    throw new FarmError('misconfigured', `This worker has no provider ${name}.`, {
      hint: 'Drop its label, or update the worker.',
    });
  }
  const chosen: Chosen = account === undefined ? { provider } : await accounts.ready(account, model);
  const { provider: _, ...wish } = chosen;
  const availability = await provider.availability(wish);
  if (availability.usable) return chosen;
  throw new FarmError('misconfigured', availability.reason, { hint: availability.fix });
}

export function markerOf(
  needs: RunNeeds,
  lease: HeldLease,
  payload: Pick<DispatchPayload, 'title' | 'member_id' | 'base' | 'task_directory' | 'in_place'>,
): OwnerMarker {
  return {
    worker: needs.worker,
    boot: needs.boot,
    pid: process.pid,
    started: needs.started,
    job: lease.job,
    epoch: lease.epoch,
    lease_id: lease.fence.lease_id,
    tree_epoch: lease.epoch,
    job_token: lease.token,
    stage: 'preparing',
    title: payload.title,
    member: payload.member_id,
    base: payload.base,
    task_directory: payload.task_directory,
    ...(payload.in_place && { in_place: payload.in_place.path }),
    include: [],
  };
}

function fetchRequest({ farm }: RunNeeds, lease: HeldLease, signal: AbortSignal): Promise<DispatchRequest> {
  const road = roadTo(objectPaths.request, { job: lease.job });
  return untilAnswered(
    async () => {
      const request = DispatchRequest.safeParse(await jsonOf(await farm.get(road, { jobToken: lease.token, signal })));
      if (request.success) return request.data;
      throw new FarmError('invalid_output', 'The request of the Dispatch has another shape than this worker knows.');
    },
    { signal },
  );
}

/** A bundle that does not hold what it should may have been cut or changed under way: it is fetched anew, once. */
export async function layOut(
  { bundles, workspaces, folders }: RunNeeds,
  lease: HeldLease,
  folder: DispatchFolder,
  payload: LaidOut,
  signal: AbortSignal,
  ground: Pick<Surroundings, 'scope' | 'setup' | 'submodules' | 'lfs'> = {},
): Promise<Isolation> {
  const { submodules } = ground;
  const wanted = { job: lease.job, base: payload.base, submodules, jobToken: () => lease.token, signal };
  const surroundings = { ...ground, bundle: () => bundles.get(wanted), signal };
  if (folder.isInPlace) {
    await judgeFolder(folder.work, folders);
    await clearTaskDirectory(folder.work, payload.task_directory);
    return workspaces.takeInPlace({ folder, base: payload.base, bundle: surroundings.bundle, signal });
  }
  try {
    return await materialise(workspaces, folder, payload, surroundings);
  } catch (error) {
    if (error instanceof FarmError && error.code === 'internal') await requireGit();
    if (!(error instanceof FarmError) || error.code !== 'source_refused') throw error;
    await bundles.drop(wanted);
    return materialise(workspaces, folder, payload, surroundings);
  }
}
