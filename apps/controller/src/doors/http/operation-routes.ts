import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { errorCodes, FarmError, headers } from '#contracts';
import { type Gate, type Identity, invalidInput } from '#gate';
import type { Services } from '../../farm.js';
import type { CallLimits } from './call-limits.js';
import { type Caller, callerOf } from './caller.js';
import { goneSignal } from './gone.js';

/**
 * `{input, confirm?}`: everything else that looks like authority is refused by name (A1.3, A10.2). A confirmation token is read only
 * to be burned: the gate refuses it at this door (A6.11, A6.18).
 */
const Envelope = z.strictObject({
  input: z.unknown(),
  confirm: z.boolean().optional(),
  confirmation_token: z.string().max(1024).optional(),
});

const callKey = /^[\x21-\x7e]{1,255}$/;

export interface OperationDoor {
  readonly gate: Gate<Services>;
  readonly identity: Identity;
  readonly callLimits: CallLimits;
  /** A worker was answered: our front door lives (D25). */
  readonly onWorkerAnswered: () => void;
}

/** The only door to handlers (A1.2): one route, by name, through the gate. */
export function operationRoutes(scope: FastifyInstance, door: OperationDoor): void {
  const { gate, identity, callLimits } = door;

  const callers = new WeakMap<FastifyRequest, Caller>();
  scope.post<{ Params: { name: string } }>(
    '/v1/operations/:name',
    {
      /** Before anything of the body is read: a stranger sends nothing here. */
      async onRequest(request) {
        const caller = await callerOf(request, identity);
        await callLimits.countCall(request, caller.principal);
        callers.set(request, caller);
      },
    },
    async (request, reply) => {
      const caller = callers.get(request);
      if (!caller) throw new FarmError('unauthenticated');
      const result = await answered(door, caller, callGate(gate, caller, request, reply, request.params.name));
      return answerHeaders(reply).send(JSON.stringify({ result }));
    },
  );
}

/** Kept by nobody, and no page: what an answer quotes may come from anywhere (H38). */
function answerHeaders(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-type', 'application/json')
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff');
}

/** A refusal is an answer; a fault of ours is none. */
async function answered<T>(door: OperationDoor, { principal }: Caller, call: Promise<T>): Promise<T> {
  try {
    const result = await call;
    if (principal.kind === 'worker') door.onWorkerAnswered();
    return result;
  } catch (error) {
    const isRefusal = error instanceof FarmError && errorCodes[error.code].status < 500;
    if (isRefusal && principal.kind === 'worker') door.onWorkerAnswered();
    throw error;
  }
}

function callGate(
  gate: Gate<Services>,
  caller: Caller,
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
): Promise<unknown> {
  const envelope = Envelope.safeParse(request.body);
  if (!envelope.success) throw invalidInput(Envelope, envelope.error.issues);
  const { input, confirm, confirmation_token: confirmationToken } = envelope.data;
  const callId = callIdOf(request);
  return gate.call({
    ...caller,
    name,
    input,
    ...(confirm !== undefined && { confirm }),
    ...(confirmationToken !== undefined && { confirmationToken }),
    ...(callId !== undefined && { callId }),
    signal: goneSignal(reply),
  });
}

function callIdOf(request: FastifyRequest): string | undefined {
  const key = request.headers[headers.idempotencyKey];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && callKey.test(key)) return key;
  throw new FarmError('idempotency_key_invalid', 'The idempotency key is 1 to 255 visible characters of ASCII');
}
