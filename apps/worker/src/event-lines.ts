/** What happens, for whoever watches the worker's stdout: one JSON line each. Nothing reads them back. */
type WorkerEvent =
  | 'claimed'
  | 'workspace'
  | 'started'
  | 'step'
  | 'reminded'
  | 'handover'
  | 'frozen'
  | 'thawed'
  | 'stale'
  | 'continues'
  | 'lost'
  | 'stopped'
  | 'captured'
  | 'uploaded'
  | 'completed'
  | 'failed'
  | 'rescued'
  | 'retained'
  | 'salvaged'
  | 'draining'
  /** The owner's file does not hold. */
  | 'misconfigured'
  | 'kept'
  | 'dropped'
  | 'disk'
  | 'beat_unanswered'
  | 'beat_answered';

export type EventLines = (event: WorkerEvent, facts: Readonly<Record<string, unknown>>) => void;

// Whoever watched may be gone (EPIPE): the work goes on without.
process.stdout.on('error', () => undefined);

export const stdoutLines: EventLines = (event, facts) => {
  process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);
};
