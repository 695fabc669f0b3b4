import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Agent } from 'undici';
import { exitCodeOf, FarmError, newId } from '#contracts';
import { requireGit } from '#git';
import { Accounts } from './accounts/accounts.js';
import { ownersEnvironment } from './accounts/owners-environment.js';
import { Farm } from './controller/farm.js';
import { untilAnswered } from './controller/until-answered.js';
import { stdoutLines } from './event-lines.js';
import { FarmWorker } from './farm-worker.js';
import { BellEar } from './identity/bell-ear.js';
import { enrol } from './identity/enrol.js';
import { type EnrolledIdentity, newIdentity, readIdentity } from './identity/identity-file.js';
import { readTicket } from './identity/join-ticket.js';
import { WorkerToken } from './identity/worker-token.js';
import { faultOf, type Log, openLog } from './log.js';
import { enterOwnNamespace } from './own-namespace.js';
import { readSandboxSettings, SandboxPolicy } from './process/sandbox/index.js';
import { providers } from './provider/index.js';
import { readSettings, requireSafeUrl, type WorkerSettings } from './settings.js';
import { WorkerModule } from './worker-module.js';
import { lockHome, openHome, type WorkerHome } from './workspace/worker-home.js';
import { Workspaces } from './workspace/workspaces.js';

async function main(): Promise<void> {
  enterOwnNamespace(process.env);
  const environment = await ownersEnvironment(process.env);
  const settings = readSettings(environment, process.argv.slice(2));
  const log = openLog(settings.logLevel);
  // whoever watched is gone: no reason to stop working
  process.stdout.on('error', () => undefined);
  const sandboxSettings = readSandboxSettings(environment);
  const gitVersion = await requireGit();
  const home = await openHome(settings.home);
  await lockHome(home, settings.host);
  const door = new Agent({ connections: 2, connect: { timeout: 5_000 } });
  const identity = await identify(settings, home, door, log);
  const worker_id = identity.enrolled.worker_id;

  const sandboxes = await SandboxPolicy.prove(sandboxSettings);
  if (sandboxes.notice !== undefined) log.warn(sandboxes.notice);

  const boot = newId();
  let rung = (): void => {};
  const ear = new BellEar(worker_id, log, () => rung());
  const application = await NestFactory.createMicroservice(WorkerModule, { strategy: ear, logger: ['error', 'warn'] });
  await application.listen();

  const tokens = new WorkerToken(identity, boot, settings.host, door, log, (user) => ear.use(user));
  await firstToken(tokens, settings, log);
  const farm = new Farm(identity.url, tokens);

  let ending: Promise<void> | undefined;
  const end = (): void => {
    // a second time: at once; the guardians end the trees, and the next start salvages
    if (ending !== undefined) process.exit(1);
    ending = drain();
  };
  const worker = new FarmWorker({
    settings,
    identity,
    boot,
    home,
    farm,
    tokens,
    workspaces: await Workspaces.open({ home, allowed: settings.isolation, log }),
    providers,
    accounts: await Accounts.open({
      home: home.path,
      host: settings.host,
      providers,
      environment: process.env,
      requireWalls: () => void sandboxes.rungFor({ foreign: true }),
      log,
    }),
    sandboxes,
    gitVersion,
    log,
    line: stdoutLines,
    onDrain: () => {
      ending ??= drain();
    },
  });
  const drain = async (): Promise<void> => {
    log.info('draining');
    await worker.drain();
    tokens.close();
    await application.close();
    log.info('drained');
    process.exit(0);
  };
  rung = () => worker.look();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);

  await worker.start();
  process.stdout.write(`${JSON.stringify({ ready: true, worker_id, boot })}\n`);
  log.info({ worker_id, boot, url: identity.url }, 'the worker is ready');
}

/** The identity of this folder; where there is none, or it has not joined, the ticket is asked for. */
async function identify(
  settings: WorkerSettings,
  home: WorkerHome,
  dispatcher: Agent,
  log: Log,
): Promise<EnrolledIdentity> {
  const known = await readIdentity(home.identity);
  const url = settings.url ?? known?.url;
  if (url === undefined) {
    throw new FarmError('misconfigured', 'The address of the controller is not known.', { hint: 'Set LONGSHORE_URL.' });
  }
  requireSafeUrl(url, settings.insecure);
  if (known?.enrolled !== undefined) return { ...known, enrolled: known.enrolled, url };
  const ticket = await readTicket(settings.ticketFile);
  const { name, host } = settings;
  return enrol({
    identity: { ...(known ?? newIdentity(url)), url },
    path: home.identity,
    ticket,
    name,
    host,
    dispatcher,
    onAgain: (error) => log.warn({ code: error.code }, error.detail),
  });
}

/** Another process with this identity: say who, and wait only when asked to (D16). */
async function firstToken(tokens: WorkerToken, settings: WorkerSettings, log: Log): Promise<void> {
  await untilAnswered(() => tokens.obtain(), {
    faults: Number.POSITIVE_INFINITY,
    ...(settings.wait ? {} : { decided: ['identity_in_use'] }),
    onAgain: (error) => log.warn({ code: error.code }, error.detail),
  });
}

/** A title of an error code ends without a full stop; a hint comes after it. */
const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

main().catch((error: unknown) => {
  const { code, detail } = error instanceof FarmError ? error : faultOf(error);
  const hint = error instanceof FarmError && error.hint !== undefined ? ` ${error.hint}` : '';
  process.stderr.write(`${JSON.stringify({ level: 60, code, msg: `${sentence(detail)}${hint}` })}\n`);
  process.exit(exitCodeOf(code));
});
