import { limits } from '#contracts';
import { forgetApprovals } from '#gate';
import { forgetReceipts } from '#store';
import type { Services } from '../farm.js';
import { claimerOf } from '../operations/job/holder-of.js';
import type { FrontDoor } from './front-door.js';
import { Loop } from './loop.js';
import { tick } from './tick.js';

/** Seldom enough that it costs nothing, often enough for what it is for. */
const minuteMs = 60_000;

/** Longer than any outage of ours after which a caller would still ask for its answer. */
const receiptHours = 7 * 24;

export interface Sweeps {
  /** A Task waits to be prepared: look at once. */
  ringTeams(): void;
  /** A Wave can be joined: look at once. */
  ringJoins(): void;
  /** A message waits to be sent: look at once. */
  ringWebhooks(): void;
  stop(): Promise<void>;
}

interface SweepOptions {
  readonly services: Services;
  readonly door: FrontDoor;
  readonly onFault: (error: unknown, name: string) => void;
}

/** Every controller sweeps; each sweep re-derives what is to be done from rows, also twice at once. */
export function startSweeps({ services, door, onFault }: SweepOptions): Sweeps {
  const { database, queue, teams, identity, ringer, settings, audit, log } = services;
  const loop = (name: string, everyMs: number, look: () => Promise<void>) => new Loop({ name, everyMs, look, onFault });

  const teamsLoop = loop('teams', limits.sweepMs, async () => {
    await teams.sweeps.prepareTasks();
    await teams.sweeps.expireRequests();
    await teams.sweeps.retestLanes();
    const live = await identity.workers.live(database);
    await teams.sweeps.placeAccounts();
    await teams.sweeps.freeRuns(live.filter(({ accepting }) => accepting).map(({ id }) => id));
    await teams.sweeps.noteMissingMachines(live.map(claimerOf));
  });
  // A loop of its own: a merge may take long, and no other Task waits for it.
  const joinsLoop = loop('joins', limits.sweepMs, async () => {
    await teams.sweeps.joinWaves();
  });
  // A loop of its own: receivers take their time.
  const webhooksLoop = loop('webhooks', limits.sweepMs, async () => {
    await teams.sweeps.deliverWebhooks(0);
  });
  const loops = [
    // A loop of its own: no other sweep's trouble may stop farm time.
    loop('clock', limits.sweepMs, () => tick({ database, queue, door })),
    loop('queue', limits.sweepMs, async () => {
      const { requeued, ended, failed } = await queue.sweep();
      if (requeued.length + ended.length > 0) log.info({ requeued, ended }, 'leases were lost');
      for (const { job, error } of failed) onFault(error, `queue:${job}`);
    }),
    loop('rings', limits.sweepMs, () => ringer.sweep()),
    loop('audit', limits.sweepMs, async () => {
      await audit.seal();
    }),
    teamsLoop,
    joinsLoop,
    webhooksLoop,
    loop('upkeep', minuteMs, async () => {
      await teams.sweeps.expireSources();
      await teams.sweeps.expireMirrors();
      await teams.sweeps.forgetDeliveries();
      await identity.upkeep();
      if (await identity.rotateDueKeys(settings.keyRotationDays)) log.info('the signing keys were rotated');
      await forgetReceipts(database, receiptHours);
      await forgetApprovals(database);
    }),
  ];
  return {
    ringTeams: () => teamsLoop.ring(),
    ringJoins: () => joinsLoop.ring(),
    ringWebhooks: () => webhooksLoop.ring(),
    async stop() {
      await Promise.all(loops.map((running) => running.stop()));
    },
  };
}
