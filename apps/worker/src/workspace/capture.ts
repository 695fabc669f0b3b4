import { type Capture, captureWorkspace, packFor, type WrittenFile } from '#git';
import type { DispatchFolder, OwnerMarker } from './owner-marker.js';

const author = { name: 'Longshore', email: 'longshore@longshore.invalid' };

/**
 * Captures what a Dispatch left, whatever its end; salvage is the same act. The moment stands in the marker before, so that a
 * second capture of the same work is the same commit and its upload no second pack.
 *
 * @throws FarmError those of `captureWorkspace`
 */
export async function captureDispatch(folder: DispatchFolder, marker: OwnerMarker): Promise<Capture> {
  return captureWorkspace({
    dir: folder.work,
    gitDir: folder.git,
    base: marker.base,
    taskDirectory: marker.task_directory,
    include: [...marker.include, `${marker.task_directory}/artifacts`],
    message: `${marker.title}\n\nLongshore-Member: ${marker.member}\nLongshore-Dispatch: ${marker.job}`,
    author,
    when: marker.captured_at === undefined ? new Date() : new Date(marker.captured_at),
  });
}

/** @throws FarmError those of `packFor` */
export function packOf(
  folder: DispatchFolder,
  base: string,
  capture: Extract<Capture, { kind: 'captured' }>,
): Promise<WrittenFile> {
  const nested = capture.nested.flatMap(({ head, content }) => [head, content]);
  const extra = [capture.ownCommits, ...nested].filter((oid) => oid !== undefined);
  return packFor({ gitDir: folder.git, commit: capture.commit, base, out: folder.pack, extra, known: capture.known });
}
