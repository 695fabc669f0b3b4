import type { Queue } from '#jobs';
import { type Database, tickFarmClock } from '#store';
import type { FrontDoor } from './front-door.js';

interface Ticking {
  readonly database: Database;
  readonly queue: Pick<Queue, 'leasedByMachines'>;
  readonly door: FrontDoor;
}

/**
 * Moves farm time on, but only where it is fair: while this controller's door answers workers, or while there is no lease of a
 * machine that time could take away (D25). A farm whose machines all went silent keeps their leases until somebody is answered
 * again. Leases of controllers do not count: who ticks is one, and what a dead one held must be lost.
 */
export async function tick({ database, queue, door }: Ticking): Promise<void> {
  if (!door.open) return;
  if (door.alive || (await queue.leasedByMachines(database)) === 0) await tickFarmClock(database);
}
