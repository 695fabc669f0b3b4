import type { Migration } from '../migrate.js';

/** Farm time, the farm's own row, receipts of idempotent calls. */
export const clockMigration: Migration = {
  order: 1,
  name: 'store-clock',
  up: `
-- A table of its own with room in the page: a row held by anything else would stop the clock (H3).
create table farm_clock (
  one boolean primary key default true check (one),
  farm_at timestamptz not null,
  ticked_at timestamptz not null
) with (fillfactor = 10);
insert into farm_clock (farm_at, ticked_at) values (clock_timestamp(), clock_timestamp());

-- Time of the farm: goes with the database's clock, and at most 3 s past the last tick. Volatile, so that each scalar
-- sub-select reads it anew; parallel safe, so that an index on it still serves.
create function farm_now() returns timestamptz language plpgsql volatile parallel safe as
$$begin return (select farm_at + least(greatest(clock_timestamp() - ticked_at, interval '0'), interval '3 s') from farm_clock); end$$;

create table farm (
  one boolean primary key default true check (one),
  id uuid not null default gen_random_uuid(),
  -- Rises when a controller starts and none ticks: confirmations of the life before are void (H42).
  generation bigint not null default 1,
  settings_version bigint not null default 0,
  created_at timestamptz not null default clock_timestamp()
);
insert into farm default values;

-- Why a retry is not a second act: inserted first, in the transaction of the act (A6.17, S3.3, D2).
create table receipt (
  caller text not null,
  operation text not null,
  key text not null,
  input_hash bytea not null,
  reply jsonb,
  created_at timestamptz not null default clock_timestamp(),
  primary key (caller, operation, key)
);
create index receipt_age on receipt (created_at);

grant select, update on farm_clock, farm to {{app}};
grant select, insert, update, delete on receipt to {{app}};
`,
};
