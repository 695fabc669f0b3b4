import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { FarmError, type InputOf, limits, storable, TaskId, taskEvents } from '#contracts';
import { type Gate, type Identity, invalidInput } from '#gate';
import type { Services } from '../../../farm.js';
import type { CallLimits } from '../call-limits.js';
import { type Caller, callerOf } from '../caller.js';
import { goneSignal } from '../gone.js';
import type { EventStreams } from './event-streams.js';

interface EventDoor {
  readonly gate: Gate<Services>;
  readonly identity: Identity;
  readonly callLimits: CallLimits;
  readonly streams: EventStreams;
}

const Query = z.strictObject({
  task_id: TaskId,
  /** Where a first look begins; a connection that is made again says `Last-Event-ID`. */
  after: z.coerce.number().int().min(0).optional(),
});
type Page = z.output<(typeof taskEvents)['output']>;
/** No page is so long that a reader who wants all of them must be told twice. */
const pageLimit = 500;
const LastId = storable(64);

/**
 * The record of a Task as server-sent events, in its own locked sequence, so that a late commit hides nothing (H16). One row, one
 * item. By cookie or bearer, never by a token in the URL; the credential is read anew for each event and each few seconds, and with a
 * login that is over or another role the stream ends (H40).
 */
export function eventRoutes(scope: FastifyInstance, door: EventDoor): void {
  scope.get('/v1/events', async (request, reply) => {
    const query = Query.safeParse(request.query);
    if (!query.success) throw invalidInput(Query, query.error.issues);
    const caller = await callerOf(request, door.identity);
    await door.callLimits.countCall(request, caller.principal);
    const { task_id } = query.data;
    const gone = goneSignal(reply);
    const look = (as: Caller, input: Omit<InputOf<typeof taskEvents>, 'task_id'>) =>
      lookOf(door.gate, as, { task_id, ...input }, gone);
    const start = await startOf(request, query.data, (from, limit) =>
      look(caller, { after: from, limit, wait_seconds: 0 }),
    );
    await look(caller, { after: start.after, limit: 1, wait_seconds: 0 });
    const place = door.streams.enter(caller.principal.id);
    const signal = AbortSignal.any([place.signal, gone]);
    try {
      begin(reply);
      if (start.reset) await write(reply, signal, 'event: reset\ndata: {}\n\n');
      let last = start.after;
      for (;;) {
        const now = await sameCaller(request, door.identity, caller);
        const page = await lookOf(
          door.gate,
          now,
          { task_id, after: last, limit: pageLimit, wait_seconds: limits.streamCheckMs / 1_000 },
          signal,
        );
        if (page.events.length === 0) {
          await write(reply, signal, ': nothing new\n\n');
          // What is over may still be pushed: it is looked at, and not held open by a wait.
          if (isOver(page)) await pause(limits.streamCheckMs, undefined, { signal });
          continue;
        }
        for (const event of page.events) {
          await sameCaller(request, door.identity, caller);
          await write(
            reply,
            signal,
            `id: ${task_id}.${event.seq}\nevent: task_event\ndata: ${JSON.stringify({ task_id, ...event })}\n\n`,
          );
          last = event.seq;
        }
      }
    } catch (error) {
      // After its head nothing can be told but that it is over: whoever is still there asks again and is told why.
      if (!reply.raw.headersSent) throw error;
    } finally {
      place.leave();
      if (reply.raw.headersSent) reply.raw.end();
    }
  });
}

const isOver = ({ status }: Page) => status === 'completed' || status === 'cancelled';

async function lookOf(
  gate: Gate<Services>,
  caller: Caller,
  input: InputOf<typeof taskEvents>,
  signal: AbortSignal,
): Promise<Page> {
  const answer = await gate.call({ ...caller, name: 'task_events', input, signal });
  return taskEvents.output.parse(answer);
}

type Look = (after: number, limit: number) => Promise<Page>;

interface Start {
  readonly after: number;
  /** The place that was named is not in this record: what came between is to be read anew. */
  readonly reset: boolean;
}

/** Where it was left, where it says, or at the head. */
async function startOf(
  request: FastifyRequest,
  { task_id, after }: z.output<typeof Query>,
  look: Look,
): Promise<Start> {
  const given = request.headers['last-event-id'];
  const named = given === undefined ? after : placeOf(given, task_id);
  if (named !== undefined && (await isThere(named, look))) return { after: named, reset: false };
  return { after: await headOf(look), reset: given !== undefined || after !== undefined };
}

function placeOf(given: string | readonly string[], task_id: string): number | undefined {
  const [task, seq = '', ...more] = (LastId.safeParse(given).data ?? '').split('.');
  return task === task_id && /^\d{1,9}$/.test(seq) && more.length === 0 ? Number(seq) : undefined;
}

async function isThere(seq: number, look: Look): Promise<boolean> {
  if (seq === 0) return true;
  const { events } = await look(seq - 1, 1);
  return events[0]?.seq === seq;
}

async function headOf(look: Look): Promise<number> {
  let head = 0;
  for (;;) {
    const last = (await look(head, pageLimit)).events.at(-1)?.seq;
    if (last === undefined) return head;
    head = last;
  }
}

function begin(reply: FastifyReply): void {
  reply.hijack();
  const headers = { ...reply.getHeaders() };
  reply.raw.writeHead(200, {
    ...Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-accel-buffering': 'no',
  });
  reply.raw.flushHeaders();
}

/** Waits while the reader is behind. */
async function write(reply: FastifyReply, signal: AbortSignal, text: string): Promise<void> {
  signal.throwIfAborted();
  if (!reply.raw.write(text)) await once(reply.raw, 'drain', { signal });
}

/** Errors: FarmError unauthenticated where the credential is over, or is not what it was when the stream began. */
async function sameCaller(request: FastifyRequest, identity: Identity, { principal: before }: Caller): Promise<Caller> {
  const now = await callerOf(request, identity);
  const sameRole = before.kind !== 'person' || (now.principal.kind === 'person' && now.principal.role === before.role);
  if (now.principal.id === before.id && sameRole) return now;
  throw new FarmError('unauthenticated');
}
