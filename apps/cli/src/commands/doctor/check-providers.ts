import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { askWorkerAccounts, WorkerAccounts, workerHomeOf } from '../../farm/worker-accounts.js';
import { failureOf } from '../../output/failure.js';
import { broken, type Finding, ok, warning } from './check.js';

/** The scripted provider is built in; accounts of others are asked of the worker, which spends nothing for it. */
export async function checkProviders(
  env: Readonly<Record<string, string | undefined>>,
  data: string,
): Promise<readonly Finding[]> {
  const builtIn = ok('provider scripted', 'built in');
  try {
    const home = workerHomeOf(data, env);
    // nothing is made by a look
    if (!existsSync(join(home, 'identity.json')) && !existsSync(join(home, 'worker.yaml'))) return [builtIn];
    const { accounts } = await askWorkerAccounts(
      { home, args: ['list'], env, signal: AbortSignal.timeout(60_000) },
      WorkerAccounts,
    );
    return [
      builtIn,
      ...accounts.map(({ account, configured, usable, version, reason = '', fix = '' }) => {
        const name = `account ${account}`;
        if (usable) return ok(name, version === undefined ? 'usable' : `usable, ${version}`);
        return configured ? broken(name, reason, fix) : warning(name, reason, fix);
      }),
    ];
  } catch (error) {
    const { message, hint } = failureOf(error);
    return [builtIn, broken('accounts', message, hint ?? 'Look at worker.yaml.')];
  }
}
