import { type Logger, pino } from 'pino';

export type Log = Logger;

/** One JSON line per message on stderr. Tokens, seeds and tickets never get here; the paths are a second lock. */
export function openLog(level: string): Log {
  const stderr = pino.destination({ fd: 2, sync: true });
  // nobody reads it any more
  stderr.on('error', () => undefined);
  return pino(
    {
      level,
      base: null,
      redact: {
        paths: [
          'token',
          'job_token',
          'seed',
          'jwt',
          'ticket',
          'authorization',
          '*.token',
          '*.seed',
          '*.jwt',
          '*.authorization',
        ],
        censor: '…',
      },
    },
    stderr,
  );
}

/** What a fault may say in a log: code and sentence, and of a foreign error its system code. */
export function faultOf(error: unknown): { readonly code: string; readonly detail: string } {
  if (typeof error !== 'object' || error === null) return { code: 'unknown', detail: 'unknown' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
  const detail = 'message' in error && typeof error.message === 'string' ? error.message.slice(0, 1024) : code;
  return { code, detail };
}
