import type { TreeEnd } from './guarded-tree.js';
import { processTable } from './process-table.js';
import { ProcessTree } from './process-tree.js';
import { markerOf, sameMarker, type TreeMarker } from './tree-marker.js';

/** The trees of this worker that live on this machine now, whoever started them. Looked at by a worker that starts (H3, D11). */
export function findTrees(worker: string): readonly TreeMarker[] {
  const found: TreeMarker[] = [];
  for (const row of processTable.rows()) {
    if (row.pid === process.pid) continue;
    const marker = markerOf(processTable.environmentOf(row.pid));
    if (marker?.worker === worker && !found.some((other) => sameMarker(other, marker))) found.push(marker);
  }
  return found;
}

/** Ends what carries the marker, and what hangs on it, without a guardian. 0 ms of grace kills at once. */
export function endTree(marker: TreeMarker, graceMs: number): Promise<TreeEnd> {
  return new ProcessTree(marker).end(graceMs);
}
