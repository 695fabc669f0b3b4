import { pino } from 'pino';
import { FarmError } from '#contracts';
import { readSettings } from './configuration/read-settings.js';
import { startController } from './controller.js';
import { faultOf } from './doors/http/http-door.js';

const log = pino({ base: { process: 'controller' } }, pino.destination(2));

try {
  const settings = await readSettings(process.env);
  log.level = settings.logLevel;
  // Our stdout is a pipe to whoever asked for it; the log is another stream, and stays.
  const tellsFirstPassword = process.env.LONGSHORE_TELL_FIRST_PASSWORD === '1';
  const { url, firstAdmin, close: closeController } = await startController(settings, log, { tellsFirstPassword });
  process.stdout.write(`${JSON.stringify({ ready: true, url, ...(firstAdmin && { first_admin: firstAdmin }) })}\n`);
  let closing = false;
  const close = async (signal: NodeJS.Signals): Promise<void> => {
    if (closing) process.exit(1);
    closing = true;
    log.info({ signal }, 'closing: calls in flight are answered');
    await closeController();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void close(signal));
} catch (error) {
  const failure =
    error instanceof FarmError ? error : new FarmError('internal', 'The controller could not start', { cause: error });
  log.fatal(
    { code: failure.code, hint: failure.hint, ...(failure.code === 'internal' && { fault: faultOf(error) }) },
    failure.detail,
  );
  process.exit(1);
}
