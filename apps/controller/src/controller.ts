import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type FastifyInstance, fastify } from 'fastify';
import type { Logger } from 'pino';
import { FarmError, limits, systemCodeOf } from '#contracts';
import { ensureFirstPerson, type FirstAdmin, openGate } from '#gate';
import { applyAllowedTable } from './configuration/apply-allowed.js';
import type { Settings } from './configuration/settings.js';
import { controllerModule } from './controller.module.js';
import { BellTransport } from './doors/bell/bell-transport.js';
import { checkLease } from './doors/check-lease.js';
import { CallLimits } from './doors/http/call-limits.js';
import { EventStreams } from './doors/http/events/event-streams.js';
import { faultOf, openHttpDoor } from './doors/http/http-door.js';
import { ProblemFilter } from './doors/http/problem.filter.js';
import { refusalOf, sendProblem } from './doors/http/problem.js';
import { openMcpDoor } from './doors/mcp/mcp-door.js';
import { openFarm, type Services } from './farm.js';
import { FrontDoor } from './sweeps/front-door.js';
import { startSweeps } from './sweeps/start-sweeps.js';

export interface Controller {
  readonly url: string;
  readonly services: Services;
  /** Made just now, and to be told once. */
  readonly firstAdmin: FirstAdmin | undefined;
  /** Takes no more calls, answers those in flight, ends the sweeps, closes. */
  close(): Promise<void>;
}

/** A connection that is kept outlives the pause between two polls; an upload over a slow line may take an hour. */
const connections = { keepAliveTimeout: 75_000, requestTimeout: limits.uploadExpiresMs } as const;

interface StartOptions {
  /** Whoever starts us shows the first admin's password to a person; else there is none, and an admin's credential makes one. */
  readonly tellsFirstPassword?: boolean;
}

/** Starts a controller. Errors: FarmError port_taken, misconfigured, data_version. */
export async function startController(
  settings: Settings,
  log: Logger,
  { tellsFirstPassword }: StartOptions = {},
): Promise<Controller> {
  const services = await openFarm(settings, log);
  const { database, bell, claims, identity, address, farmId } = services;
  const onFault = (error: unknown, where: string) => log.error({ where, fault: faultOf(error) }, 'a fault of ours');
  await applyAllowedTable(services, services.registry);
  const gate = openGate({
    registry: services.registry,
    services,
    database,
    inputs: services.keys.inputs,
    metrics: services.metrics,
    rules: settings.operations,
    checkLease: (tx, principal, job) => checkLease(services.queue, tx, principal, job),
    onFault,
  });
  const door = new FrontDoor();
  const callLimits = new CallLimits(settings.api);
  const streams = new EventStreams();
  const app = await hangDoors(settings, services, (instance) => {
    callLimits.hangIn(instance);
    openHttpDoor(instance, { services, gate, callLimits, streams, onWorkerAnswered: door.answered });
    openMcpDoor(instance, { services, gate, callLimits, onAgentAnswered: door.answered });
  });
  const url = await listen(app, settings).catch(async (error: unknown) => {
    await app.close();
    await bell.close();
    await database.close();
    throw error;
  });
  address.publicUrl ??= url;
  const firstAdmin = await ensureFirstPerson(database, {
    folder: settings.data,
    farmId,
    url: address.publicUrl,
    tellsPassword: tellsFirstPassword,
  });
  await database.transaction((tx) => services.teams.workflows.insertStarters(tx));
  await services.plugins.start();
  door.opened();
  const sweeps = startSweeps({ services, door, onFault });
  services.preparing.listen(() => sweeps.ringTeams());
  services.joining.listen(() => sweeps.ringJoins());
  services.delivering.listen(() => sweeps.ringWebhooks());
  log.info({ url, farm_id: farmId, fingerprint: identity.fingerprint }, 'the controller listens');
  const close = async (): Promise<void> => {
    door.closed();
    claims.close();
    streams.close();
    await closeDoors(app);
    await sweeps.stop();
    await services.plugins.close();
    await services.teams.close();
    await bell.close();
    await database.close();
  };
  let closing: Promise<void> | undefined;
  return {
    url,
    services,
    firstAdmin,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

async function hangDoors(
  { tls, trustedProxies }: Settings,
  { bell, claims }: Services,
  hang: (instance: FastifyInstance) => void,
): Promise<NestFastifyApplication> {
  const instance: FastifyInstance = fastify({
    serverFactory: (handler) =>
      tls ? createTlsServer({ ...tls, ...connections }, handler) : createServer(connections, handler),
    bodyLimit: limits.bodyBytes,
    ...(trustedProxies.length > 0 && { trustProxy: [...trustedProxies] }),
    genReqId: () => randomUUID(),
    forceCloseConnections: 'idle',
    frameworkErrors: (error, _request, reply) => {
      sendProblem(reply, refusalOf(error));
    },
  });
  hang(instance);
  const adapter = new FastifyAdapter(instance);
  const app = await NestFactory.create<NestFastifyApplication>(controllerModule(claims), adapter, {
    logger: false,
    abortOnError: false,
    bodyParser: false,
  });
  app.useGlobalFilters(new ProblemFilter());
  app.connectMicroservice({ strategy: new BellTransport(bell) });
  await app.startAllMicroservices();
  return app;
}

/** Calls in flight are answered. Their connections are kept by nobody then; what takes too long is cut. */
async function closeDoors(app: NestFastifyApplication): Promise<void> {
  const server: Server = app.getHttpServer();
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const late = setTimeout(() => server.closeAllConnections(), limits.stopGraceMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}

async function listen(app: NestFastifyApplication, { host, port, tls }: Settings): Promise<string> {
  try {
    await app.listen(port, host);
  } catch (error) {
    throw listenError(error, host, port);
  }
  const bound: unknown = app.getHttpServer().address();
  const taken = typeof bound === 'object' && bound !== null && 'port' in bound ? String(bound.port) : String(port);
  const shown = host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'https' : 'http'}://${shown}:${taken}`;
}

function listenError(error: unknown, host: string, port: number): unknown {
  const code = systemCodeOf(error);
  if (code === 'EADDRINUSE')
    return new FarmError('port_taken', `Port ${port} of ${host} is taken`, {
      hint: 'Stop what listens there, or set LONGSHORE_PORT to another port (0 takes a free one).',
      cause: error,
    });
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES')
    return new FarmError('misconfigured', `This machine can not listen on ${host}, port ${port}`, { cause: error });
  return error;
}
