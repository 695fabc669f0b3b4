import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Farm } from '../support/farm.js';
import { ModelServer } from '../support/model-server/model-server.js';

/** What the farms of one spec share: a scripted model, from the first test to the last. */
export interface FarmStage {
  readonly model: ModelServer;
  /** Stops it with the test, also where one of its workers stands still. */
  keep(farm: Farm): Farm;
  /** Numbers of the sessions that played a script, in the order in which they first asked. */
  sessionsOf(script: string): readonly (number | undefined)[];
}

export function farmStage(): FarmStage {
  let model: ModelServer;
  const running: Farm[] = [];

  beforeAll(async () => {
    model = await ModelServer.start();
  });
  afterEach(async () => {
    for (const farm of running.splice(0)) {
      for (const worker of farm.workers.values()) worker.signal('SIGCONT');
      await farm.stop();
    }
  });
  afterAll(() => model.close());

  return {
    get model() {
      return model;
    },
    keep(farm) {
      running.push(farm);
      return farm;
    },
    sessionsOf: (script) => [...new Set(model.of(script).map(({ session }) => session))],
  };
}
