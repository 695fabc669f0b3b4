/**
 * Loaded into a controller before it starts (`node --import`): writes one JSON line for each call of an operation, with how many
 * statements it sent, into the file that LONGSHORE_BENCH_STATEMENTS names. What begins and ends transactions is not counted, and
 * nothing of what sweeps do meanwhile.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';
import { createWriteStream } from 'node:fs';
import pg from 'pg';

const calls = new AsyncLocalStorage();
const handler = tracingChannel('fastify.request.handler');
const out = createWriteStream(process.env.LONGSHORE_BENCH_STATEMENTS ?? '/dev/null', { flags: 'a' });

handler.start.bindStore(calls, ({ request, reply }) => {
  const call = { operation: request.url.split('/').at(-1), statements: 0 };
  reply.raw.once('finish', () => out.write(`${JSON.stringify(call)}\n`));
  return call;
});

const query = pg.Client.prototype.query;
pg.Client.prototype.query = function counted(asked, ...rest) {
  const call = calls.getStore();
  const text = typeof asked === 'string' ? asked : asked?.text;
  if (call !== undefined && !/^(begin|commit|rollback)/i.test(text ?? '')) call.statements += 1;
  return query.call(this, asked, ...rest);
};
