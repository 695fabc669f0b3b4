import { join } from 'node:path';
import { type ObjectStore, openStore } from '#git';
import type { TeamParts } from '../parts.js';

/** The Task's own git store, made when first asked for. Owns all its objects (H19). */
export function storeOf(parts: Pick<TeamParts, 'tasksFolder'>, task: string): Promise<ObjectStore> {
  return openStore(join(parts.tasksFolder, task, 'store.git'));
}

/** Where an uploaded checkout lies in the object store, until a Task has taken it in. */
export function sourceName(principal: string, sha256: string): string {
  return `sources/${principal}/${sha256}`;
}
