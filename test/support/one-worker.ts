import { aWorker, type TestWorker } from './a-worker.js';
import { StandInController } from './stand-in-controller.js';

interface FarmOfOne {
  readonly farm: StandInController;
  readonly worker: TestWorker;
}

/**
 * One farm with one worker for the tests of a file that only give it a job: begun by the first that asks for it, ended with the
 * file. A job that a test left behind is cancelled and takes no slot from the next.
 */
export function oneWorker(env: Readonly<Record<string, string>> = {}): () => Promise<FarmOfOne> {
  let begun: Promise<FarmOfOne> | undefined;
  return async () => {
    begun ??= begin(env);
    const shared = await begun;
    shared.farm.startOver();
    return shared;
  };
}

async function begin(env: Readonly<Record<string, string>>): Promise<FarmOfOne> {
  const farm = await StandInController.open();
  return { farm, worker: await aWorker(farm, { until: 'file', slots: 4, env }) };
}
