/** Whose tree a process belongs to; carried in its environment and inherited by all that it starts. */
export interface TreeMarker {
  /** The worker's id: machines may run several workers, and none may end another's trees. */
  readonly worker: string;
  readonly job: string;
  /** The epoch at which the tree was started; a frozen session that goes on keeps it (D11). */
  readonly epoch: number;
}

const jobVariable = 'LONGSHORE_JOB';
const workerVariable = 'LONGSHORE_WORKER';

export function markerEnvironment(marker: TreeMarker): Readonly<Record<string, string>> {
  return { [jobVariable]: `${marker.job}:${marker.epoch}`, [workerVariable]: marker.worker };
}

/** Reads the marker from an environment block (`A=1\0B=2\0`); undefined where there is none or it is not whole. */
export function markerOf(environmentBlock: string): TreeMarker | undefined {
  if (!environmentBlock.includes(`${jobVariable}=`)) return undefined;
  const entries = environmentBlock.split('\0');
  const job = firstOf(entries, jobVariable);
  const worker = firstOf(entries, workerVariable);
  const parts = /^(.+):(\d{1,15})$/.exec(job ?? '');
  if (worker === undefined || parts?.[1] === undefined) return undefined;
  return { worker, job: parts[1], epoch: Number(parts[2]) };
}

export function sameMarker(a: TreeMarker, b: TreeMarker): boolean {
  return a.worker === b.worker && a.job === b.job && a.epoch === b.epoch;
}

/** The first wins, as in getenv. */
function firstOf(entries: readonly string[], name: string): string | undefined {
  return entries.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
}
