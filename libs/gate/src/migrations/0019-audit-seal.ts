import type { Migration } from '#store';

/** Rows of the audit are sealed in a chain of their own; what waits for its seal is listed in the row's own transaction (H43). */
export const auditSealMigration: Migration = {
  order: 19,
  name: 'gate-audit-seal',
  up: `
-- A row waits here from its own transaction on until it is sealed, whenever it commits: numbers are given before commits, so
-- a sealer that went by numbers would pass over a row for ever (H16).
create table audit_unsealed (seq bigint primary key);

create table audit_seal (
  -- From 1 without a gap.
  n bigint primary key,
  seq bigint not null unique,
  -- HMAC over the seal before, this seal's number, key and loss, and the row with all its columns.
  mac bytea not null,
  key_id text not null,
  -- The seal that the farm's head file named and that this database did not have any more.
  lost text
);

create function audit_awaits_seal() returns trigger language plpgsql security definer set search_path from current as
$$begin insert into audit_unsealed select seq from added; return null; end$$;
create trigger audit_awaits_seal after insert on audit
  referencing new table as added for each statement execute function audit_awaits_seal();

insert into audit_unsealed select seq from audit;

-- Persons are few and their calls are what one looks for; the rows of machines cost no index entry.
create index audit_actor on audit (actor, seq) where actor is not null;

grant select, delete on audit_unsealed to {{app}};
-- Append only, by privilege (A13.1).
grant select, insert on audit_seal to {{app}};
`,
};
