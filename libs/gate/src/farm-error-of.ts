import { FarmError } from '#contracts';

/** SQLSTATEs of a server that goes, comes, is full or asks for another try; and what the network says of one that is away. */
const away =
  /^(08...|57P0[123]|53[0-9A-Z]{3}|25P03|40001|40P01|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)$/;

/** How `pg` says, without a code, that a connection broke under a statement. */
const brokenConnection =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect)/;

/**
 * Any error as one of ours: a database that is away is `unavailable`, which callers try again for as long as it takes; the rest is
 * a fault of ours, of which a caller is told nothing.
 */
export function farmErrorOf(error: unknown): FarmError {
  if (error instanceof FarmError) return error;
  if (isDatabaseAway(error))
    return new FarmError('unavailable', 'The database does not answer', { cause: error, retryAfterMs: 500 });
  return new FarmError('internal', undefined, { cause: error });
}

function isDatabaseAway(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if ('code' in error && typeof error.code === 'string') return away.test(error.code);
  return 'message' in error && typeof error.message === 'string' && brokenConnection.test(error.message);
}
