import { join } from 'node:path';
import type { Logger } from 'pino';
import { bells } from '#contracts';
import {
  AuditLog,
  type FarmKeys,
  FirstBeats,
  Identity,
  LiveRegistry,
  Metrics,
  type MintNats,
  openFarmKeys,
  type Registry,
} from '#gate';
import { controllerPool, openQueue, type Queue } from '#jobs';
import {
  type Bell,
  beginGeneration,
  type Database,
  migrate,
  mintNatsUser,
  type Objects,
  openBell,
  openDatabase,
  openObjects,
  readFarm,
  silentBell,
} from '#store';
import { openTeams, type Teams } from '#teams';
import { withoutCredentials } from './configuration/setting-table.js';
import type { NatsSettings, Settings } from './configuration/settings.js';
import { migrations } from './migrations.js';
import { operations } from './operations/catalogue.js';
import { PluginHost } from './plugins/plugin-host.js';
import { Ringer } from './rings/ringer.js';
import { WaitingClaims } from './rings/waiting-claims.js';
import { Wake } from './rings/wake.js';

/** Where this controller is reached; known once it listens. */
interface Address {
  publicUrl: string | undefined;
}

/** What an operation may use: one of each in a controller. */
export interface Services {
  readonly database: Database;
  readonly queue: Queue;
  readonly identity: Identity;
  /** Everything that can be called. */
  readonly registry: Registry<Services>;
  readonly teams: Teams;
  readonly bell: Bell;
  readonly objects: Objects;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly keys: FarmKeys;
  readonly farmId: string;
  readonly claims: WaitingClaims;
  readonly ringer: Ringer;
  readonly firstBeats: FirstBeats;
  readonly audit: AuditLog;
  readonly plugins: PluginHost;
  /** A Task waits to be prepared. */
  readonly preparing: Wake;
  /** A Wave waits to be joined. */
  readonly joining: Wake;
  /** A message waits to be sent. */
  readonly delivering: Wake;
  readonly address: Address;
  /** What of the configuration was skipped at the start. */
  readonly warnings: string[];
}

/** Connections for calls; a burst waits for one here and not in PostgreSQL. */
const databaseConnections = 20;

/** What the connections of a controller are called once it lives. */
const controllers = 'longshore-controller';

/** Under another name, or whoever starts would take itself, or another that starts, for one that lives. */
async function beginLife({ databaseUrl: url }: Settings): Promise<void> {
  const database = openDatabase({ url, max: 1, applicationName: `${controllers}-starts` });
  try {
    await beginGeneration(database, controllers);
  } finally {
    await database.close();
  }
}

/** Brings the schema up to date and composes the services. Nothing listens yet. */
export async function openFarm(settings: Settings, log: Logger): Promise<Services> {
  if (settings.databaseOwnerUrl !== undefined) {
    const appRole = decodeURIComponent(new URL(settings.databaseUrl).username);
    const ran = await migrate({ ownerUrl: settings.databaseOwnerUrl, appRole, migrations });
    if (ran.length > 0) log.info({ migrations: ran }, 'the schema is up to date');
  }
  await beginLife(settings);
  const database = openDatabase({
    url: settings.databaseUrl,
    max: databaseConnections,
    applicationName: controllers,
    onIdleError: (error) => log.warn({ fault: error.message }, 'a database connection was lost'),
  });
  const { id: farmId } = await readFarm(database);
  const keysFolder = join(settings.data, 'keys');
  const keys = await openFarmKeys(keysFolder);
  const mintNats = settings.nats && minterOf(settings.nats);
  const address: Address = { publicUrl: settings.publicUrl };
  const identity = new Identity({
    database,
    keys,
    farmId,
    leaseMs: settings.leaseMs,
    publicUrl: () => address.publicUrl,
    ...(mintNats && { mintNats }),
  });
  const registry = new LiveRegistry<Services>(operations);
  const claims = new WaitingClaims();
  const bell = openFarmBell(settings, log, claims);
  const objects = openObjects(join(settings.data, 'objects'));
  const ringer = new Ringer({ bell, claims, liveWorkers: () => identity.workers.live(database) });
  const preparing = new Wake();
  const joining = new Wake();
  const delivering = new Wake();
  const teams = openTeams({
    database,
    objects,
    tasksFolder: join(settings.data, 'tasks'),
    bell,
    queue: () => queue,
    machines: (queries) => identity.workers.live(queries),
    vault: keys.vault,
    sources: {
      ...settings.sources,
      dataFolder: settings.data,
      mirrorsFolder: join(settings.data, 'mirrors'),
    },
    onPreparing: preparing.ring,
    onReported: (wave) => void teams.sweeps.mergeAhead(wave),
    onSettled: joining.ring,
    onDelivered: delivering.ring,
    publicUrl: () => address.publicUrl,
    onTrouble: (error, task) =>
      log.error({ err: error, task }, 'a sweep could not see to this Task; the next one tries again'),
  });
  const queue: Queue = openQueue({
    database,
    kinds: [teams.dispatchKind, teams.commandRunKind, teams.snapshotKind, teams.webhookKind],
    leaseMs: settings.leaseMs,
    ring: (job) => (job.pool === controllerPool ? delivering.ring() : ringer.ring(job)),
    offer: ringer.offer,
    mintJobToken: (lease) => identity.mintJobToken(lease),
  });
  return {
    database,
    queue,
    identity,
    registry,
    teams,
    bell,
    objects,
    settings,
    log,
    metrics: new Metrics(),
    keys,
    farmId,
    claims,
    ringer,
    firstBeats: new FirstBeats(),
    plugins: new PluginHost({ plugins: settings.plugins, data: settings.data, log, registry }),
    audit: new AuditLog({ database, key: keys.audit, folder: keysFolder }),
    preparing,
    joining,
    delivering,
    address,
    warnings: [...settings.configuration.warnings],
  };
}

/** What was missed while NATS was away is looked for at once when it is back. */
function openFarmBell({ nats }: Settings, log: Logger, claims: WaitingClaims): Bell {
  if (nats === undefined) return silentBell;
  return openBell({
    url: nats.url,
    name: 'longshore-controller',
    ...(nats.creds !== undefined && { creds: nats.creds }),
    onChange: (connected) => {
      log.info({ connected }, 'the bell');
      if (connected) claims.wakeAll();
    },
  });
}

/** A worker hears its own bell and says nothing (H23). */
function minterOf({ url, accountSeed }: NatsSettings): MintNats | undefined {
  if (accountSeed === undefined) return undefined;
  return (worker, livesSeconds) => {
    const { jwt, seed } = mintNatsUser({
      accountSeed,
      name: worker,
      subscribe: [bells.worker(worker)],
      publish: [],
      expiresAt: new Date(Date.now() + livesSeconds * 1000),
    });
    return { url: withoutCredentials(url), jwt, seed };
  };
}
