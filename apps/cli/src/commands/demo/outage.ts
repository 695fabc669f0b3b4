import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from './stage.js';

const awaySeconds = 40;

/** No controller for longer than a lease: farm time stands still, nothing is lost, the same session goes on at its epoch (H3). */
export const outage: Fault = {
  about: `the controller is gone for ${awaySeconds} s, longer than a lease; the same session goes on`,
  epochs: 1,
  async strike({ farm, tell, signal }) {
    await farm.killController();
    tell('controller', `killed with kill -9; nothing answers for ${awaySeconds} s (a lease is 30 s)`);
    await pause(awaySeconds * 1_000, undefined, { signal });
    await farm.startController();
    tell('controller', 'back; farm time stood still meanwhile, so no lease has run out');
  },
  async aftermath() {
    return {};
  },
};
