import { mkdir, rm } from 'node:fs/promises';
import { CommandRunPayload, CommandRunRequest, FarmError, objectPaths } from '#contracts';
import type { HeldLease } from '../claim/held-lease.js';
import { jsonOf } from '../controller/ask.js';
import { roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { lookBeneath } from '../workspace/beneath.js';
import { requireRoom } from '../workspace/disk-room.js';
import type { Isolation } from '../workspace/materialise.js';
import { type DispatchFolder, type OwnerMarker, writeMarker } from '../workspace/owner-marker.js';
import { commandRungOf, commandWallsOf } from './command-run-walls.js';
import { fetchJobSettings, type RepositorySettings } from './job-settings.js';
import { layOut, markerOf } from './preparation.js';
import type { RunNeeds } from './run-needs.js';
import { groundOf } from './run-setup.js';

export interface PreparedCommand {
  readonly payload: CommandRunPayload;
  readonly request: CommandRunRequest;
  readonly isolation: Isolation;
  readonly settings: RepositorySettings;
  readonly marker: OwnerMarker;
  /** Absolute. */
  readonly cwd: string;
}

/**
 * All that must stand before a command is started: room, the command, a clean workspace of its commit, the folder that it runs in.
 * The owner marker stays at `preparing`: there is no work in the workspace that a crash could lose.
 *
 * @throws FarmError what is missing · the abort's reason
 */
export async function prepareCommand(
  needs: RunNeeds,
  lease: HeldLease,
  folder: DispatchFolder,
  payload: unknown,
  signal: AbortSignal,
): Promise<PreparedCommand> {
  await requireRoom(needs.home.path);
  const read = readPayload(payload);
  commandRungOf(needs, read);
  signal.throwIfAborted();
  await rm(folder.path, { recursive: true, force: true });
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  const marker = markerOf(needs, lease, read);
  await writeMarker(folder, marker);
  const request = await fetchRequest(needs, lease, signal);
  const settings = await fetchJobSettings(needs, lease, signal);
  const ground = groundOf(needs, lease, folder, settings, commandWallsOf(needs, read, settings), signal);
  const isolation = await layOut(needs, lease, folder, read, signal, ground);
  const cwd = await folderBeneath(folder.work, request.cwd);
  signal.throwIfAborted();
  return { payload: read, request, settings, isolation, marker, cwd };
}

function readPayload(payload: unknown): CommandRunPayload {
  const parsed = CommandRunPayload.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new FarmError('invalid_input', 'The payload of the command has another shape than this worker knows.', {
    hint: 'Bring controller and worker to the same version.',
  });
}

function fetchRequest({ farm }: RunNeeds, lease: HeldLease, signal: AbortSignal): Promise<CommandRunRequest> {
  const road = roadTo(objectPaths.request, { job: lease.job });
  return untilAnswered(
    async () => {
      const request = CommandRunRequest.safeParse(
        await jsonOf(await farm.get(road, { jobToken: lease.token, signal })),
      );
      if (request.success) return request.data;
      throw new FarmError('invalid_output', 'The command has another shape than this worker knows.');
    },
    { signal },
  );
}

/** A folder of the workspace, reached through no symlink (H21). */
async function folderBeneath(work: string, cwd: string | undefined): Promise<string> {
  if (cwd === undefined) return work;
  if ((await lookBeneath(work, cwd))?.isDirectory() === true) return `${work}/${cwd}`;
  throw new FarmError('invalid_task_path', 'The working directory of the command is no folder of the workspace.', {
    hint: 'Name a folder that is in the tree, by its relative path and not through a symlink.',
  });
}
