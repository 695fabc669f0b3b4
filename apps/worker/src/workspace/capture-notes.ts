import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { limits, utf8Length } from '#contracts';
import { commitFiles, packFor, type WrittenFile } from '#git';
import { lookBeneath, readFileBeneath } from './beneath.js';
import type { DispatchFolder, OwnerMarker } from './owner-marker.js';

interface Note {
  readonly path: string;
  readonly content: string;
}

export interface CapturedNotes {
  readonly commit: string;
  readonly pack: WrittenFile;
}

/**
 * The member's folder of notes as a commit on the base, for its later Dispatches and its team: never a part of the branch. Nothing
 * where it is empty or as it was laid in. Text files only, and no more than everybody's workspace should carry.
 */
export async function captureNotes(
  folder: DispatchFolder,
  marker: OwnerMarker,
  laidIn: string | undefined,
): Promise<CapturedNotes | undefined> {
  const place = `${marker.task_directory}/notes/${marker.member}`;
  const files = await readNotes(folder.work, place);
  if (files.length === 0) return undefined;
  const { commit, tree } = await commitFiles({
    gitDir: folder.git,
    base: marker.base,
    files,
    message: `Notes of ${marker.member}\n\nLongshore-Dispatch: ${marker.job}`,
    author: { name: 'Longshore', email: 'longshore@longshore.invalid' },
    when: marker.captured_at === undefined ? new Date() : new Date(marker.captured_at),
  });
  if (tree === laidIn) return undefined;
  const pack = await packFor({ gitDir: folder.git, commit, base: marker.base, out: `${folder.pack}.notes` });
  return { commit, pack };
}

/** All processes of the agent are gone: nobody changes a folder between the look at it and the reading of its names. */
async function readNotes(root: string, place: string): Promise<readonly Note[]> {
  const notes: Note[] = [];
  const waiting = [''];
  let bytes = 0;
  let seen = 0;
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    const here = at === '' ? place : `${place}/${at}`;
    if ((await lookBeneath(root, here))?.isDirectory() !== true) continue;
    for (const name of (await readdir(join(root, here))).toSorted()) {
      seen += 1;
      if (seen > namesMost || !isPlainName(name)) continue;
      const path = at === '' ? name : `${at}/${name}`;
      if ((await lookBeneath(root, `${place}/${path}`))?.isDirectory() === true) waiting.push(path);
      const content = await readFileBeneath(root, `${place}/${path}`, limits.noteFileBytes);
      if (content === undefined || content.includes('\0') || notes.length >= limits.noteFiles) continue;
      bytes += utf8Length(content);
      if (bytes > limits.notesBytes) return notes;
      notes.push({ path, content });
    }
  }
  return notes;
}

/** Looked at at most, whatever lies there. */
const namesMost = 1_000;

/** Git refuses some names in a tree, and a terminal obeys others. */
const isPlainName = (name: string): boolean => !/\p{Cc}/u.test(name) && !/^\.git/i.test(name);
