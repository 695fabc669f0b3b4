import { join } from 'node:path';
import { z } from 'zod';
import { readIfThere, writePrivateFile } from '../../private-file.js';

/**
 * What a workspace stands on. Written before it does, and beside it as long as it is there, live, kept or set aside: nothing that
 * is named here is ever removed, and after a crash the workspace is put together again from it.
 */
export const LayerNote = z.strictObject({
  backend: z.enum(['overlay', 'reflink', 'clone']),
  /** Keys on the shelves. */
  repository: z.string().optional(),
  template: z.string().optional(),
  /** What became of the setup command. */
  setup: z.enum(['none', 'done', 'failed']).default('none'),
});
export type LayerNote = z.output<typeof LayerNote>;
export type SetupDone = LayerNote['setup'];

const pathIn = (folder: string): string => join(folder, 'layers.json');

export function writeLayerNote(folder: string, note: LayerNote): Promise<void> {
  return writePrivateFile(pathIn(folder), JSON.stringify(note));
}

/** Nothing when there is none, as in a workspace that stands alone, or it is not whole. */
export async function readLayerNote(folder: string): Promise<LayerNote | undefined> {
  const text = await readIfThere(pathIn(folder)).catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return LayerNote.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
