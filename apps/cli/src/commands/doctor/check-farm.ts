import { fetch } from 'undici';
import { type CredentialFile, type OutputOf, pluginList, status, workerList } from '#contracts';
import { readCredential } from '../../client/credential.js';
import type { FarmClient } from '../../client/farm-client.js';
import { openWithCredential } from '../../client/open-farm-client.js';
import { failureOf } from '../../output/failure.js';
import { requireFreePort } from '../../services/ports.js';
import { broken, type Finding, ok, warning } from './check.js';

const farmPort = 4180;
const skewMs = 5_000;

/**
 * What can be seen of a farm: nothing is wrong with a machine on which none was started, and whoever has a credential wants to
 * reach the farm that it names.
 */
export async function checkFarm(credentialFile: string): Promise<readonly Finding[]> {
  const credential = await readCredential(credentialFile).catch((error: unknown) => failureOf(error));
  if (!('url' in credential)) {
    if (credential.code !== 'unavailable')
      return [broken('credential', credential.message, credential.hint ?? 'Mend it.')];
    return [await checkPort(), warning('farm', 'none was started here', 'npm start')];
  }
  const client = await openWithCredential(credentialFile);
  try {
    return [ok('credential', credentialFile), ...(await lookAt(client, credential))];
  } finally {
    await client.close();
  }
}

async function checkPort(): Promise<Finding> {
  return await requireFreePort(farmPort, 'the controller').then(
    () => ok('port', `${farmPort} is free`),
    () => warning('port', `${farmPort} is used by another program`, 'npm start -- --port 0 takes a free one'),
  );
}

async function lookAt(client: FarmClient, { url }: CredentialFile): Promise<readonly Finding[]> {
  try {
    const farm = await client.call(status, {});
    const { workers } = await client.call(workerList, {});
    const live = workers.filter(({ state }) => state === 'live').length;
    const ill = workers.filter(
      ({ state, note }) => state === 'quarantined' || state === 'silent' || (state === 'live' && note !== null),
    );
    return [
      ok('controller', `${url}, version ${farm.version}`),
      farm.nats === 'connected'
        ? ok('bell', 'connected')
        : warning('bell', 'NATS is away: jobs are found by polling, within 6 s', 'Look at <data>/nats/server.log.'),
      live > 0
        ? ok('workers', `${live} of ${workers.length} live`)
        : broken(
            'workers',
            `none of ${workers.length} is live: Tasks wait`,
            'longshore worker invite, longshore worker --join',
          ),
      ...ill.map(({ name, state, note }) =>
        warning(
          `worker ${name}`,
          note === null ? state : `${state}: ${note}`,
          state === 'live' ? 'Mend it on that machine.' : 'Mend it, then longshore worker resume.',
        ),
      ),
      ...(await checkPlugins(client)),
      await checkClock(url),
      farmTime(farm),
    ];
  } catch (error) {
    const { message, hint } = failureOf(error);
    return [broken('controller', message, hint ?? 'npm start')];
  }
}

/** Leases and pauses of accounts count by it. That it is behind is as it should be, and a person who reads its times must know. */
export function farmTime({
  farm_time_behind_ms: behind,
  farm_time_runs: runs = true,
}: Pick<OutputOf<typeof status>, 'farm_time_behind_ms' | 'farm_time_runs'>): Finding {
  if (!runs)
    return warning(
      'farm time',
      'stands still: no controller moves it on',
      "Look at the controller's log, and restart it.",
    );
  if (behind === undefined || behind <= skewMs) return ok('farm time', 'runs with the clock');
  const told = `${duration(behind)} behind the clock: it stood still while no controller ran. Leases and pauses count by it`;
  return ok('farm time', told);
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** Admins alone are told of plugins; for others there is nothing to mend. */
async function checkPlugins(client: FarmClient): Promise<readonly Finding[]> {
  const { plugins } = await client.call(pluginList, {}).catch(() => ({ plugins: [] }));
  return plugins.map(({ name, state, reason, operations }) =>
    state === 'up'
      ? ok(`plugin ${name}`, `up, ${operations.length} operations`)
      : warning(`plugin ${name}`, reason === null ? state : `${state}: ${reason}`, pluginFix),
  );
}

const pluginFix = 'Mend it or its table in longshore.toml; a disabled plugin is started again with the controller.';

/** By the Date header: tokens are judged by the farm's clock, and a person who reads times by their own. */
async function checkClock(url: string): Promise<Finding> {
  const asked = Date.now();
  const response = await fetch(`${url}/healthz`);
  await response.text();
  const theirs = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(theirs))
    return warning('clock', 'the farm does not tell its time', 'Compare `date` on both machines.');
  const off = Math.round(theirs - (asked + Date.now()) / 2);
  // The header counts in seconds: less is no difference.
  if (Math.abs(off) <= 1_500) return ok('clock', "the farm's, to a second");
  const told = `${(Math.abs(off) / 1000).toFixed(1)} s ${off < 0 ? 'ahead of' : 'behind'} the farm's`;
  if (Math.abs(off) <= skewMs) return ok('clock', told);
  return warning('clock', told, 'Leases do not mind; for right times in lists run an NTP client.');
}
