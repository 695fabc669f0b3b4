import type { FailureReport } from './failure-report.js';
import type { RunNeeds } from './run-needs.js';
import { cutDetail } from './session-end.js';

/**
 * The account's login or key was refused: this machine offers it no more, and says so before the job is back. The job is put back for
 * whoever has the account, and names it and the way out.
 */
export async function refuseAccount(
  { accounts, beatSoon }: Pick<RunNeeds, 'accounts' | 'beatSoon'>,
  account: string,
  detail: string,
): Promise<FailureReport> {
  const fix = await accounts.refuse(account);
  beatSoon();
  return {
    reason: 'account_refused',
    retryable: true,
    detail: cutDetail(`The account ${account} was refused: ${detail} ${fix}`),
  };
}
