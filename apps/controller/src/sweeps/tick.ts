import type { Queue } from '#jobs';
import { type Database, tickFarmClock } from '#store';
import type { FrontDoor } from './front-door.js';

interface Ticking {
  readonly database: Database;
  readonly queue: Pick<Queue, 'counts'>;
  readonly door: FrontDoor;
}

/**
 * Moves farm time on, but only where it is fair: while this controller's door answers workers, or while there is no lease that
 * time could take away (D25). A farm whose machines all went silent keeps their leases until somebody is answered again.
 */
export async function tick({ database, queue, door }: Ticking): Promise<void> {
  if (!door.open) return;
  if (door.alive || (await queue.counts(database)).leased === 0) await tickFarmClock(database);
}
