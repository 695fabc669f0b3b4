/**
 * The accounts of a worker, for the command line and beside a running worker: `list`, `check [account]`, `login <provider>
 * [account]`. Its answer, or its fault, is the one JSON line on stdout.
 */
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { exitCodeOf, FarmError } from '#contracts';
import { Accounts } from './accounts/accounts.js';
import { checkAccount } from './accounts/check-account.js';
import { isLoginProvider, logIn } from './accounts/login.js';
import { ownersEnvironment } from './accounts/owners-environment.js';
import { readWorkerFile } from './accounts/worker-file.js';
import { faultOf, openLog } from './log.js';
import { readSandboxSettings, SandboxPolicy } from './process/sandbox/index.js';
import { providers } from './provider/index.js';
import { readSettings } from './settings.js';
import { openHome } from './workspace/worker-home.js';

async function main(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [command = '', ...rest] = positionals;
  const environment = await ownersEnvironment(process.env);
  const settings = readSettings(environment, []);
  const home = await openHome(settings.home);
  if (command === 'login') return answer(await login(home.path, rest));
  const log = openLog(settings.logLevel);
  const sandboxes = await SandboxPolicy.prove(readSandboxSettings(environment));
  await readWorkerFile(home.path);
  const accounts = await Accounts.open({
    home: home.path,
    host: hostname().slice(0, 255),
    providers,
    environment: process.env,
    requireWalls: () => void sandboxes.rungFor({ foreign: true }),
    log,
  });
  const [only] = rest;
  if (only !== undefined && !accounts.names.includes(only))
    throw new FarmError('not_found', `This worker has no account ${only}.`, {
      hint: `It has: ${accounts.names.join(', ') || 'none'}.`,
    });
  if (command === 'list') {
    const found = await Promise.all(accounts.names.map((name) => accounts.find(name)));
    return answer({
      accounts: found.map(({ name, provider, found: { usable, ...more } }) => ({
        account: name,
        provider,
        configured: accounts.isConfigured(name),
        usable,
        ...more,
      })),
    });
  }
  if (command !== 'check') throw new FarmError('invalid_input', 'The commands are list, check and login.');
  const signal = untilStopped();
  const checks = [];
  // one after the other: each is a whole agent
  for (const name of only === undefined ? accounts.names : [only]) {
    checks.push(await checkAccount({ home, sandboxes, accounts, log, environment: process.env, signal }, name));
  }
  answer({ accounts: checks.map((check) => ({ ...check, configured: accounts.isConfigured(check.account) })) });
}

function login(home: string, [provider = '', account]: readonly string[]): ReturnType<typeof logIn> {
  if (!isLoginProvider(provider))
    throw new FarmError('invalid_input', 'Only claude and codex have a login of their own.', {
      hint: 'Give accounts of other agents a key or an environment in worker.yaml.',
    });
  return logIn({ home, provider, account, environment: process.env });
}

function untilStopped(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

function answer(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

main().then(
  () => leave(0),
  (error: unknown) => {
    const { code, detail } = error instanceof FarmError ? error : faultOf(error);
    const hint = error instanceof FarmError && error.hint !== undefined ? { hint: error.hint } : {};
    process.stdout.write(`${JSON.stringify({ fault: { code, detail, ...hint } })}\n`);
    leave(exitCodeOf(code));
  },
);

function leave(code: number): void {
  process.stdout.write('', () => process.exit(code));
}
