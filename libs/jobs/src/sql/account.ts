import { statement } from '#store';
import type { JobRow } from '../job.js';
import type { AccountState } from '../queue.js';
import { restoringClasses } from './classes.js';

/** Accounts that are limited or paused, or that something runs on. */
const accounts = statement<AccountState>(
  'job.accounts',
  `
  with used as (
    select account, count(*) as busy from job where state = 'leased' and account is not null group by account
  ), ruled as (
    select substr(name, length('account:') + 1) as account, max,
      case when paused_until > (select farm_now()) then (extract(epoch from paused_until - (select farm_now())) * 1000)::bigint end as paused_ms,
      case when paused_until > (select farm_now()) then paused_reason end as paused_reason
    from quota where name like 'account:%' and (max is not null or paused_until > (select farm_now()))
  )
  select coalesce(r.account, u.account) as account, r.max, r.paused_ms, r.paused_reason, coalesce(u.busy, 0) as busy
  from ruled r full join used u on u.account = r.account
  order by 1`,
);

const resumeAccount = statement<{ name: string }>(
  'job.resume_account',
  `update quota set paused_until = null, paused_reason = null where name = 'account:' || $account
     and paused_until > (select farm_now()) returning name`,
);

/** Jobs that wait under one of these accounts, or that some machine can not run (H11), oldest first. */
const waitingOnAccounts = statement<JobRow>(
  'job.waiting_on_accounts',
  `select * from job where state in ('queued', 'held') and account is not null
     and (account = any($accounts::text[]) or excluded <> '{}')
   order by seq limit $limit::int`,
);

/** Accounts that something waits under. */
const waitedFor = statement<{ account: string }>(
  'job.accounts_waited_for',
  `select distinct account from job_class where account is not null order by account`,
);

/** state: one that was leased meanwhile keeps the account that it runs on. Its scope's lock is held. */
const useAccount = statement<JobRow>(
  'job.use_account',
  `
  with moved as (
    update job set account = $account, limits = $limits, class = $class, payload = $payload::jsonb
    where id = $job_id and state in ('queued', 'held') returning *
  ), ${restoringClasses("moved where state = 'queued'")}
  select * from moved`,
);

export const accountSql = { accounts, resumeAccount, waitingOnAccounts, waitedFor, useAccount };
