import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { bytesIn } from './disk/bytes-in.js';
import { unmountBeneath } from './layers/mounts.js';
import { type DispatchFolder, folderAt } from './owner-marker.js';
import { removeFolder } from './remove-folder.js';

const Note = z.object({ bytes: z.number() });
const noteName = 'kept.json';
/** What a successor takes over. Prompts, tokens and the adapter's files are not among it. */
const goesOn = ['work', 'git', 'upper', 'scratch', 'layers.json'] as const;

/** An Assignment's id names a folder here. */
const shape = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Workspaces of Dispatches whose Assignment goes on: all that is not ignored in them is at the farm already; what stays is what
 * makes a successor warm, the ignored files. One for each Assignment, the last.
 */
export class KeptWorkspaces {
  constructor(private readonly folder: string) {}

  /** Only after the farm has what is in it. */
  async keep(folder: DispatchFolder, assignment: string): Promise<void> {
    if (!shape.test(assignment)) return removeFolder(folder.path);
    await unmountBeneath(folder.path);
    const { state, sandbox, handover, pack, marker } = folder;
    for (const path of [state, sandbox, handover, pack, marker, join(folder.path, 'output.log')])
      await removeFolder(path);
    await writeFile(join(folder.path, noteName), JSON.stringify({ bytes: await bytesIn(folder.path) }));
    const place = join(this.folder, assignment);
    await removeFolder(place);
    await rename(folder.path, place);
  }

  /** Moves the kept workspace of an Assignment into the folder of its next Dispatch. Whether there was one. */
  async take(assignment: string, to: DispatchFolder): Promise<boolean> {
    if (!shape.test(assignment)) return false;
    const place = join(this.folder, assignment);
    if ((await stat(join(place, noteName)).catch(() => undefined)) === undefined) return false;
    await mkdir(to.path, { recursive: true, mode: 0o700 });
    const names = await readdir(place);
    for (const name of goesOn) if (names.includes(name)) await rename(join(place, name), join(to.path, name));
    await removeFolder(place);
    return true;
  }

  async list(): Promise<
    readonly { readonly key: string; readonly path: string; readonly bytes: number; readonly usedAt: number }[]
  > {
    return Promise.all(
      (await readdir(this.folder)).map(async (key) => {
        const path = join(this.folder, key);
        const note = join(path, noteName);
        const [text, seen] = await Promise.all([
          readFile(note, 'utf8').catch(() => ''),
          stat(note).catch(() => undefined),
        ]);
        return { key, path, bytes: bytesOf(text), usedAt: seen?.mtimeMs ?? 0 };
      }),
    );
  }

  remove(assignment: string): Promise<void> {
    return removeFolder(folderAt(join(this.folder, assignment)).path);
  }
}

function bytesOf(text: string): number {
  try {
    return Note.safeParse(JSON.parse(text)).data?.bytes ?? 0;
  } catch {
    return 0;
  }
}
