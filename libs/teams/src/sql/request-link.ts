import { statement } from '#store';

export interface RequestLinkRow {
  readonly request: string;
  readonly given_to: string;
  readonly expires_at: Date;
  readonly used: boolean;
  readonly expired: boolean;
}

/** Hand-written SQL of the links that answer requests. */
export const requestLinkSql = {
  /** Wall time, as people read it: until the request is due, or for as long as links are good for. */
  add: statement<{ expires_at: Date }>(
    'teams.request_link_add',
    `insert into request_link (hash, request, given_to, expires_at)
     values ($hash, $request, $given_to,
       least($due_at::timestamptz, clock_timestamp() + $seconds::int * interval '1 s'))
     returning expires_at`,
  ),
  /** For looking: changes nothing, however often it is done. */
  read: statement<RequestLinkRow>(
    'teams.request_link_read',
    `select request, given_to, expires_at, used_at is not null as used, expires_at <= clock_timestamp() as expired
     from request_link where hash = $hash`,
  ),
  /**
   * Uses a link up. No row: it does not hold.
   *  request      a ticket of another request answers nothing here (H44)
   *  used_at      of two answers by one link, the second waits for the first and is refused
   *  expires_at   read after that wait
   */
  use: statement<{ given_to: string }>(
    'teams.request_link_use',
    `update request_link set used_at = clock_timestamp()
     where hash = $hash and request = $request and used_at is null and expires_at > clock_timestamp()
     returning given_to`,
  ),
  forget: statement<unknown>(
    'teams.request_link_forget',
    `delete from request_link where expires_at < clock_timestamp() - $ms::float8 * interval '1 ms'`,
  ),
} as const;
