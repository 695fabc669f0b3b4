import { join } from 'node:path';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { makePrivateFolder, writePrivateFile } from '../services/private-file.js';
import type { Services } from '../services/services.js';
import { type NodeProcess, startNodeProcess } from './node-process.js';
import { programOf } from './programs.js';

export interface ControllerOptions {
  readonly data: string;
  readonly services: {
    readonly database: Services['database'] /** Absent: the farm looks by itself. */;
    readonly nats?: Services['nats'] | undefined;
  };
  readonly host?: string | undefined;
  /** 0 takes a free one; absent: as the configuration says. */
  readonly port?: number | undefined;
  readonly publicUrl?: string | undefined;
  /** Another address than loopback without TLS (H36). */
  readonly insecure?: boolean | undefined;
  readonly leaseMs?: number | undefined;
  /** The password of a first admin comes back, to be shown to a person and kept nowhere. */
  readonly tellsFirstPassword?: boolean | undefined;
  /** More variables of the controller. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface RunningController {
  readonly process: NodeProcess;
  readonly url: string;
  /** Made at this start. */
  readonly firstAdmin?: FirstAdmin;
}

const FirstAdmin = z.object({ name: z.string(), password: z.string() });
export type FirstAdmin = z.output<typeof FirstAdmin>;

const Ready = z.looseObject({ ready: z.literal(true), url: z.url(), first_admin: FirstAdmin.optional() });

/** Starts a controller and waits until it listens. FarmError when it does not, naming its log. */
export async function startController(options: ControllerOptions): Promise<RunningController> {
  const { data, host, port, publicUrl, insecure, leaseMs, tellsFirstPassword, env } = options;
  const process = await startNodeProcess({
    name: 'controller',
    program: programOf('controller'),
    log: join(await logFolder(data), 'controller.log'),
    env: {
      ...env,
      LONGSHORE_DATA: data,
      LONGSHORE_HOST: host,
      LONGSHORE_PORT: port === undefined ? undefined : String(port),
      LONGSHORE_PUBLIC_URL: publicUrl,
      LONGSHORE_INSECURE: insecure === true ? '1' : undefined,
      LONGSHORE_TELL_FIRST_PASSWORD: tellsFirstPassword === true ? '1' : undefined,
      LONGSHORE_LEASE_MS: leaseMs === undefined ? undefined : String(leaseMs),
      ...(await serviceVariables(data, options.services)),
    },
  });
  const ready = Ready.safeParse(await process.ready);
  if (ready.success) {
    const { url, first_admin: firstAdmin } = ready.data;
    return { process, url, ...(firstAdmin && { firstAdmin }) };
  }
  await process.stop(1_000);
  throw new FarmError('internal', 'The controller said that it is ready and no address.');
}

export async function logFolder(data: string): Promise<string> {
  const folder = join(data, 'logs');
  await makePrivateFolder(folder);
  return folder;
}

/** Secrets go by files of mode 0600 where the controller takes a file. */
async function serviceVariables(data: string, { database, nats }: ControllerOptions['services']) {
  const folder = join(data, 'controller');
  await makePrivateFolder(folder);
  const databaseVariables = { DATABASE_URL: database.appUrl, DATABASE_OWNER_URL: database.ownerUrl };
  if (nats === undefined) return databaseVariables;
  const url = new URL(nats.url);
  const credsFile = join(folder, 'nats.creds');
  const seedFile = join(folder, 'nats-account.seed');
  if (nats.login.kind === 'creds') await writePrivateFile(credsFile, nats.login.creds);
  if (nats.login.kind === 'password') {
    url.username = encodeURIComponent(nats.login.user);
    url.password = encodeURIComponent(nats.login.password);
  }
  if (nats.login.kind === 'token') url.username = encodeURIComponent(nats.login.token);
  if (nats.accountSeed !== undefined) await writePrivateFile(seedFile, nats.accountSeed);
  return {
    ...databaseVariables,
    NATS_URL: url.href.replace(/\/$/, ''),
    NATS_CREDS_FILE: nats.login.kind === 'creds' ? credsFile : undefined,
    NATS_ACCOUNT_SEED_FILE: nats.accountSeed === undefined ? undefined : seedFile,
  };
}
