import { constants } from 'node:fs';
import { copyFile, type FileHandle, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DispatchPayload, FarmError, headers, limits, OutputHead, objectPaths } from '#contracts';
import { unanswered } from '../controller/ask.js';
import { type Farm, roadTo } from '../controller/farm.js';
import { untilAnswered } from '../controller/until-answered.js';
import { lookBeneath, makeFoldersBeneath, removeFileBeneath } from './beneath.js';
import type { DispatchFolder } from './owner-marker.js';

interface OutputWanted {
  readonly farm: Farm;
  readonly job: string;
  readonly jobToken: () => string;
  readonly signal: AbortSignal;
}

/** Where a member finds what its command said, as the continuation tells it. */
export function outputPathOf(taskDirectory: string, command: string): string {
  return `${taskDirectory}/command-runs/${command}/output.log`;
}

/** Says at the end of the file that it does not hold all. */
export const leftOutLine = (what: string): string => `\n[${what}]\n`;

/**
 * Lays a file into a workspace in which nothing of the agent runs, in the place of what stands there; reached through no symlink
 * (H21).
 *
 * @throws FarmError `invalid_task_path` when something in the way is no folder
 */
export async function layFile(workspace: string, path: string, source: string): Promise<void> {
  await makeFoldersBeneath(workspace, dirname(path));
  await removeFileBeneath(workspace, path);
  await copyFile(source, join(workspace, path), constants.COPYFILE_EXCL);
}

/**
 * What the command said that the Dispatch goes on from, where the workspace does not have it: it ran on another machine, or in a
 * workspace that is gone. The beginning, up to limits.commandLogBytes, and a line about the rest.
 *
 * @throws FarmError what the farm decided · `invalid_task_path` · `disk_full` · the abort's reason
 */
export async function layCommandOutput(
  wanted: OutputWanted,
  folder: DispatchFolder,
  { task_directory, command_output: command }: Pick<DispatchPayload, 'task_directory' | 'command_output'>,
): Promise<void> {
  if (command === undefined) return;
  const path = outputPathOf(task_directory, command);
  if ((await lookBeneath(folder.work, path))?.isFile() === true) return;
  const fetched = join(folder.path, 'fetched.log');
  const file = await open(fetched, 'w', 0o600);
  try {
    await fetchOutput(wanted, file);
    await file.close();
    await layFile(folder.work, path, fetched);
  } finally {
    await file.close().catch(() => undefined);
    await rm(fetched, { force: true });
  }
}

async function fetchOutput(wanted: OutputWanted, file: FileHandle): Promise<void> {
  let from: string | undefined;
  for (let room: number = limits.commandLogBytes; ; ) {
    const { head, bytes } = await untilAnswered(() => fetchPart(wanted, from), { signal: wanted.signal });
    const part = bytes.subarray(0, room);
    await file.writeFile(part);
    room -= part.length;
    const isCut = part.length < bytes.length || (head.is_bounded && room === 0);
    if (isCut) return await file.writeFile(leftOutLine(moreThan(limits.commandLogBytes, head)));
    if (!head.is_bounded || head.next === null) return await sayWhatIsMissing(file, head);
    from = head.next;
  }
}

/** A machine that was lost could not say how much there was. */
function moreThan(held: number, { written_bytes: written }: OutputHead): string {
  return written > held
    ? `${written - held} bytes more are not in this file`
    : 'there is more, which is not in this file';
}

async function sayWhatIsMissing(file: FileHandle, { complete }: OutputHead): Promise<void> {
  if (complete) return;
  await file.writeFile(leftOutLine('what the command said after this did not arrive'));
}

async function fetchPart(
  { farm, job, jobToken, signal }: OutputWanted,
  from: string | undefined,
): Promise<{ readonly head: OutputHead; readonly bytes: Uint8Array }> {
  const query = from === undefined ? '' : `?from=${from}`;
  const answer = await farm.get(`${roadTo(objectPaths.commandOutput, { job })}${query}`, {
    jobToken: jobToken(),
    signal,
  });
  const bytes = await answer.body.bytes().catch((error: unknown) => {
    signal.throwIfAborted();
    throw unanswered(error);
  });
  return { head: headOf(answer.headers[headers.output]), bytes };
}

function headOf(header: string | string[] | undefined): OutputHead {
  try {
    return OutputHead.parse(JSON.parse(String(header)));
  } catch (error) {
    throw new FarmError('invalid_output', 'The farm sent an output without a word on it.', { cause: error });
  }
}
