import type { Database, Queries } from './database.js';
import { storeSql } from './sql.js';

/**
 * Moves farm time by what passed since the last tick, 3 s at most. An ordinary durable commit on the pool that serves beats: a
 * database that can not commit stops time (D25). Call it each second, and only while beats are answered.
 */
export async function tickFarmClock(database: Queries): Promise<void> {
  await database.run(storeSql.tick);
}

export interface FarmFacts {
  readonly id: string;
  readonly generation: number;
  /** Farm time. */
  readonly farmAt: Date;
  /** What farm time is behind the database's clock, for all the times in which no controller lived. */
  readonly behindMs: number;
  /** A controller has ticked within 5 s. */
  readonly ticking: boolean;
}

export async function readFarm(database: Queries): Promise<FarmFacts> {
  const row = await database.first(storeSql.farm);
  if (!row) throw new Error('the farm has no row: the schema is not migrated');
  return { id: row.id, generation: row.generation, farmAt: row.farm_at, behindMs: row.behind_ms, ticking: row.ticking };
}

/**
 * Begins a new life of the farm when no controller lives (H42). `controllers`: what their connections are called, for who can tell
 * by them; else only their ticks are looked at.
 */
export async function beginGeneration(database: Database, controllers?: string): Promise<void> {
  await database.run(storeSql.nextGeneration, { controllers: controllers ?? null });
}
