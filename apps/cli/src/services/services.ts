import { type FarmDatabase, useGivenDatabase } from './given-database.js';
import { type FarmNats, type GivenNats, useGivenNats } from './given-nats.js';
import { startNats } from './nats.js';
import { appRole, startPostgres } from './postgres.js';

export interface ServicesOptions {
  /** An opened data folder. */
  readonly data: string;
  /** Existing servers to use instead of our own. */
  readonly database?: { readonly ownerUrl: string; readonly appUrl?: string | undefined } | undefined;
  readonly nats?: GivenNats | undefined;
  readonly ports?: { readonly postgres?: number; readonly nats?: number };
  /** Whether nats-server may be installed by the package manager (`--install`). */
  readonly install?: boolean;
}

export interface Services {
  readonly database: FarmDatabase;
  readonly nats: FarmNats;
  /** What was started here or taken over from a crash; given servers are not among them. */
  readonly started: readonly StartedService[];
  /** Ends what is in `started`, NATS first: the database is the truth and goes last. */
  stop(): Promise<void>;
}

interface StartedService {
  readonly name: 'postgres' | 'nats';
  readonly pid: number;
  readonly port: number;
  readonly reused: boolean;
}

interface Started extends StartedService {
  stop(): Promise<void>;
}

interface Ready<T> {
  readonly uses: T;
  readonly started?: Started;
}

/** What the environment says about existing servers: DATABASE_URL, DATABASE_APP_URL, NATS_URL, NATS_CREDS, NATS_ACCOUNT_SEED_FILE. */
export function givenByEnvironment(env: NodeJS.ProcessEnv): Pick<ServicesOptions, 'database' | 'nats'> {
  const { DATABASE_URL: ownerUrl, DATABASE_APP_URL: appUrl, NATS_URL: url } = env;
  return {
    database: ownerUrl ? { ownerUrl, appUrl: appUrl || undefined } : undefined,
    nats: url ? { url, credsFile: env.NATS_CREDS, accountSeedFile: env.NATS_ACCOUNT_SEED_FILE } : undefined,
  };
}

/** Starts PostgreSQL and nats-server side by side, or uses the given ones. When one fails the other is ended again. */
export async function startServices(options: ServicesOptions): Promise<Services> {
  const [database, nats] = await Promise.allSettled([readyDatabase(options), readyNats(options)]);
  if (database.status === 'fulfilled' && nats.status === 'fulfilled') {
    const started = [nats.value.started, database.value.started].filter((service) => service !== undefined);
    return {
      database: database.value.uses,
      nats: nats.value.uses,
      started: started.map(({ name, pid, port, reused }) => ({ name, pid, port, reused })),
      async stop() {
        for (const service of started) await service.stop();
      },
    };
  }
  for (const one of [nats, database]) if (one.status === 'fulfilled') await one.value.started?.stop();
  throw database.status === 'rejected' ? database.reason : nats.status === 'rejected' ? nats.reason : undefined;
}

async function readyDatabase({ data, database, ports }: ServicesOptions): Promise<Ready<FarmDatabase>> {
  if (database !== undefined) return { uses: await useGivenDatabase(data, database.ownerUrl, database.appUrl) };
  const server = await startPostgres({ data, ...(ports?.postgres === undefined ? {} : { port: ports.postgres }) });
  return { uses: { ownerUrl: server.url, appUrl: server.appUrl, appRole }, started: { name: 'postgres', ...server } };
}

async function readyNats({ data, nats, ports, install = false }: ServicesOptions): Promise<Ready<FarmNats>> {
  if (nats !== undefined) return { uses: await useGivenNats(nats) };
  const server = await startNats({ data, install, ...(ports?.nats === undefined ? {} : { port: ports.nats }) });
  const { url, accountSeed, controllerCreds } = server;
  return {
    uses: { url, accountSeed, login: { kind: 'creds', creds: controllerCreds } },
    started: { name: 'nats', ...server },
  };
}
