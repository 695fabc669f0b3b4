import type { Counted } from './exec-events.js';

const nothing: Counted = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 };

/** More sessions than a worker has at once. The oldest of a full map is long over. */
const mostSessions = 1_000;

/** In memory, because an agent could write to a file of its session. A session ends with its worker, so it need not last. */
const countedOf = new Map<string, Counted>();

/** Keeps a session's new total, by its state folder, and answers the one before. */
export function countAnew(stateFolder: string, total: Counted): Counted {
  const before = countedOf.get(stateFolder) ?? nothing;
  countedOf.delete(stateFolder);
  countedOf.set(stateFolder, total);
  const [oldest] = countedOf.keys();
  if (countedOf.size > mostSessions && oldest !== undefined) countedOf.delete(oldest);
  return before;
}
