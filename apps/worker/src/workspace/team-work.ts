import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DispatchPayload, objectPaths } from '#contracts';
import { layTeam } from '#git';
import { unanswered } from '../controller/ask.js';
import { type Farm, roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { isDiskFull } from '../private-file.js';
import { removeFileBeneath, writeNewFileBeneath } from './beneath.js';
import type { DispatchFolder } from './owner-marker.js';

interface TeamWanted {
  readonly farm: Farm;
  readonly job: string;
  readonly jobToken: () => string;
  readonly signal: AbortSignal;
}

/**
 * Lays what the team has left into a workspace that stands on the base: unmerged branches into the agent's repository (D22), notes
 * into the Task directory. Answers the tree of the member's own notes, as they were.
 *
 * @throws FarmError what the farm decided · `source_refused` · `disk_full` · the abort's reason
 */
export async function layTeamWork(
  wanted: TeamWanted,
  folder: DispatchFolder,
  payload: Pick<DispatchPayload, 'branches' | 'notes' | 'task_directory' | 'member_id'>,
): Promise<string | undefined> {
  if (payload.branches === undefined && payload.notes === undefined) return undefined;
  const bundle = join(folder.path, 'team.bundle');
  await untilAnswered(() => download(wanted, bundle), { signal: wanted.signal });
  const { notes } = await layTeam({ dir: folder.work, bundle });
  await rm(bundle, { force: true });
  for (const { member, files } of notes) {
    const place = `${payload.task_directory}/notes/${member}`;
    // of others only what they say now; the member's own may be newer here than what the farm has
    if (member !== payload.member_id) await removeFileBeneath(folder.work, place);
    for (const { path, content } of files) {
      if (member === payload.member_id) await removeFileBeneath(folder.work, `${place}/${path}`);
      await writeNewFileBeneath(folder.work, `${place}/${path}`, content);
    }
  }
  return notes.find(({ member }) => member === payload.member_id)?.tree;
}

async function download({ farm, job, jobToken, signal }: TeamWanted, path: string): Promise<void> {
  const answer = await farm.get(roadTo(objectPaths.team, { job }), { jobToken: jobToken(), signal });
  try {
    await pipeline(answer.body, createWriteStream(path, { mode: 0o600 }), { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw isDiskFull(error) ? error : unanswered(error);
  }
}
