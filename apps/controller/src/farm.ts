import type { Logger } from 'pino';
import type { Identity } from '#gate';
import type { Queue } from '#jobs';
import type { Bell, Database, Objects } from '#store';
import type { Roads, Teams } from '#teams';
import type { Settings } from './settings.js';

/** What an operation may use: one of each in a controller. */
export interface Services {
  readonly database: Database;
  readonly queue: Queue;
  readonly identity: Identity;
  readonly teams: Teams;
  readonly roads: Roads;
  readonly bell: Bell;
  readonly objects: Objects;
  readonly settings: Settings;
  readonly log: Logger;
}
