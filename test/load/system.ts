/** A queue under load. Each lives in a database of its own of the one cluster, or in Redis. */
export interface System {
  readonly name: string;
  /** Calls at once that are measured. */
  readonly inFlight: readonly number[];
  /** Jobs that wait when it begins to work. */
  enqueue(count: number): Promise<void>;
  /** Claims and completes so many jobs, with so many calls at once. Answers the seconds that it took. */
  work(count: number, inFlight: number): Promise<number>;
  /** How long jobs wait that are queued one at a time on an idle queue. */
  latency?(count: number): Promise<readonly Waited[]>;
  /** The process that stands in the controller's place, where it has one. */
  readonly pid?: number | undefined;
  /** Where its statements are counted. */
  readonly database?: string;
  close(): Promise<void>;
}

/** Milliseconds until the lease is in hand. */
export interface Waited {
  /** Since whoever queued the job has its answer: nothing where the lease came first. */
  readonly sinceCommitted: number;
  /** Since it began to queue it. */
  readonly sinceAsked: number;
}

/**
 * Runs `one` until `count` of them are done, so many lanes at once; it gets its lane's number, and answers how many jobs it brought
 * through.
 */
export async function drain(count: number, inFlight: number, one: (lane: number) => Promise<number>): Promise<number> {
  let left = count;
  let idle = 0;
  const run = async (_: unknown, lane: number) => {
    while (left > 0) {
      const done = await one(lane);
      left -= done;
      idle = done === 0 ? idle + 1 : 0;
      if (idle > 1000) throw new Error('the queue is empty before its time');
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, run));
  return (performance.now() - began) / 1000;
}

/** One job at a time, each when the one before is held: `submit` answers when it is committed. */
export async function oneByOne(
  count: number,
  submit: (n: number) => Promise<unknown>,
  holds: (n: number) => Promise<number>,
): Promise<readonly Waited[]> {
  const waited: Waited[] = [];
  for (let n = 0; n < count; n += 1) {
    const lease = holds(n);
    await new Promise((resolve) => setTimeout(resolve, 40));
    const asked = performance.now();
    await submit(n);
    const committed = performance.now();
    const held = await lease;
    waited.push({ sinceCommitted: Math.max(0, held - committed), sinceAsked: held - asked });
  }
  return waited;
}
