import { mkdir } from 'node:fs/promises';
import { type CommandRunPayload, type DispatchPayload, FarmError, type IsolationReport } from '#contracts';
import { cloneWorkspace } from '#git';
import { machineClock } from '../process/monotonic.js';
import type { DispatchFolder } from './owner-marker.js';

/** The rungs of the ladder, best first. What a machine cannot give is said and never silently made less. */
const rungs = [
  { backend: 'overlay', missing: 'overlay: this worker cannot mount templates yet' },
  { backend: 'reflink', missing: 'reflink: this worker keeps no templates to copy yet' },
  { backend: 'clone', missing: undefined },
] as const;

/** Of a Dispatch or a Command Run. */
export type LaidOut = DispatchPayload | CommandRunPayload;

export type Isolation = Omit<IsolationReport, 'capture_ms' | 'bytes'>;

/**
 * Makes the workspace of a Dispatch, private and standing alone.
 *
 * @throws FarmError `isolation_unavailable` when none of the required backends is here · those of `cloneWorkspace`
 */
export async function materialise(folder: DispatchFolder, payload: LaidOut, bundle: string): Promise<Isolation> {
  const since = machineClock.now();
  const { required } = payload.isolation;
  const allowed = rungs.filter(({ backend }) => required.length === 0 || required.includes(backend));
  const used = allowed.find(({ missing }) => missing === undefined);
  if (used === undefined) {
    throw new FarmError(
      'isolation_unavailable',
      `This worker has none of the required backends (${required.join(', ')}).`,
      {
        hint: 'Require another backend, or label the workers that have it.',
      },
    );
  }
  for (const path of [folder.work, folder.state]) await mkdir(path, { recursive: true, mode: 0o700 });
  await cloneWorkspace({
    bundle,
    base: payload.base,
    dir: folder.work,
    gitDir: folder.git,
    name: payload.member_id,
    author: { name: payload.member_id, email: `${payload.member_id}@longshore.invalid` },
    exclude: [payload.task_directory],
  });
  const refused = allowed
    .slice(0, allowed.indexOf(used))
    .flatMap(({ missing }) => (missing === undefined ? [] : [missing]));
  return {
    requested: required.length === 0 ? 'best' : required.join(','),
    backend: used.backend,
    fell_back: refused.length > 0,
    reasons: refused,
    prepare_ms: Math.round(machineClock.now() - since),
  };
}
