import type { WorkerEvent } from '../farm/worker-process.js';
import type { Screen } from '../output/screen.js';
import { cellText } from '../output/table.js';
import { plainLine } from '../output/terminal-text.js';

const technical = new Set(['event', 'job', 'epoch', 'at', 'time', 'lease_id']);

/** One line for what a worker says of its work: job and epoch first, then the facts. */
export function workerEventLine(event: WorkerEvent): string {
  const facts = Object.entries(event)
    .filter(([name, value]) => !technical.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => `${plainLine(name)} ${cellText(value)}`)
    .join(', ');
  const job = event.job === undefined ? '' : `${event.job.slice(0, 8)}/${event.epoch ?? '?'} `;
  return plainLine(`${job}${event.event}${facts === '' ? '' : `: ${facts}`}`);
}

export function tellWorkerEvent(event: WorkerEvent, screen: Screen): void {
  screen.say(screen.paint.dim(workerEventLine(event)));
}
