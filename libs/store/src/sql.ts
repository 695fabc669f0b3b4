import { statement } from './statement.js';

/** All hand-written SQL of the store. */
export const storeSql = {
  /**
   * One tick of farm time. No row: another controller has ticked within 0.9 s, or this one may wait.
   *  both reads stand in SET    read through FROM, a waiting update would add a stale difference twice (time ran ahead)
   *  not between 0 and 0.9 s    one tick a second however many controllers tick; a clock that went back (below 0) is re-based
   *  greatest(…, 0), least(…, 3 s)   a database host set back moves time by 0, one set ahead or paused by 3 s at most (D25)
   */
  tick: statement<{ farm_at: Date }>(
    'store.tick',
    `update farm_clock
     set farm_at = farm_at + least(greatest(clock_timestamp() - ticked_at, interval '0'), interval '3 s'),
         ticked_at = clock_timestamp()
     where clock_timestamp() - ticked_at not between interval '0' and interval '0.9 s'
     returning farm_at`,
  ),

  farm: statement<{ id: string; generation: number; farm_at: Date; behind_ms: number; ticking: boolean }>(
    'store.farm',
    `select id, generation, (select farm_now()) as farm_at,
       (extract(epoch from clock_timestamp() - (select farm_now())) * 1000)::float8 as behind_ms,
       (select clock_timestamp() - ticked_at < interval '5 s' from farm_clock) as ticking
     from farm`,
  ),

  /**
   * A life of the farm begins when a controller starts and none lives (H42): none has ticked for 5 s, or none is connected under
   * $controllers, as after a restart of all that was faster than that. Who starts connects under another name until this is done.
   */
  nextGeneration: statement<{ generation: number }>(
    'store.next_generation',
    `update farm set generation = generation + 1
     where (select clock_timestamp() - ticked_at > interval '5 s' from farm_clock)
       or ($controllers::text is not null and not exists (select from pg_stat_activity
         where datname = current_database() and application_name = $controllers))
     returning generation`,
  ),

  /**
   * One receipt per call. No row: it is there already; a first call still in its transaction makes the second wait here, so
   * that it reads the reply and does not act again.
   */
  claimReceipt: statement<{ caller: string }>(
    'store.claim_receipt',
    `insert into receipt (caller, operation, key, input_hash) values ($caller, $operation, $key, $input_hash)
     on conflict do nothing returning caller`,
  ),

  readReceipt: statement<{ input_hash: Buffer; reply: unknown }>(
    'store.read_receipt',
    `select input_hash, reply from receipt where caller = $caller and operation = $operation and key = $key`,
  ),

  settleReceipt: statement<unknown>(
    'store.settle_receipt',
    `update receipt set reply = $reply where caller = $caller and operation = $operation and key = $key`,
  ),

  forgetReceipts: statement<unknown>(
    'store.forget_receipts',
    `delete from receipt where created_at < clock_timestamp() - make_interval(hours => $hours)`,
  ),
};
