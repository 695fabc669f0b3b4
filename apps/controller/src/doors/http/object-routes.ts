import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  CommandId,
  Epoch,
  FarmError,
  headers,
  JobId,
  limits,
  ObjectId,
  OutputFrom,
  objectPaths,
  Sha256,
  TaskId,
} from '#contracts';
import { hasRole, type Identity, invalidInput } from '#gate';
import type { LeaseShown, OutputToSend, Roads } from '#teams';
import { type LeaseHolder, leaseHolderOf, pastHolderOf, personOf } from './caller.js';
import { sendFile } from './send-file.js';

export interface ObjectDoor {
  readonly identity: Identity;
  readonly roads: Roads;
}

const ofJob = z.object({ job: JobId });
const ofLfs = z.object({ job: JobId, oid: Sha256 });
const ofPack = z.object({ job: JobId, epoch: z.coerce.number().pipe(Epoch), commit: ObjectId });
const ofOutput = z.object({
  job: JobId,
  epoch: z.coerce.number().pipe(Epoch),
  segment: z.coerce.number().int().min(0),
});
const ofRun = z.object({ task: TaskId, command: CommandId });
const OutputAsked = z.object({ from: OutputFrom.optional() });
const Have = z.object({
  have: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(ObjectId).max(64))
    .optional(),
});

/** Roads for bytes. Who calls is checked here; what a lease may read and write, behind them (H29). */
export function objectRoutes(scope: FastifyInstance, { identity, roads }: ObjectDoor): void {
  scope.removeAllContentTypeParsers();
  // Bodies are streams: nothing of them is held in memory.
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

  scope.get(objectPaths.request, async (request) => {
    const lease = leaseShown(await leaseHolderOf(request, identity), read(ofJob, request.params));
    return await roads.request(lease);
  });

  scope.get(objectPaths.settings, async (request, reply) => {
    const lease = leaseShown(await leaseHolderOf(request, identity), read(ofJob, request.params));
    reply.header('cache-control', 'no-store');
    return await roads.settings(lease);
  });

  scope.get(objectPaths.bundle, async (request, reply) => {
    const lease = leaseShown(await leaseHolderOf(request, identity), read(ofJob, request.params));
    const { have = [] } = read(Have, request.query);
    return sendFile(request, reply, await roads.bundle(lease, have));
  });

  scope.get(objectPaths.team, async (request, reply) => {
    const lease = leaseShown(await leaseHolderOf(request, identity), read(ofJob, request.params));
    return sendFile(request, reply, await roads.team(lease));
  });

  scope.get(objectPaths.lfs, async (request, reply) => {
    const { oid, ...params } = read(ofLfs, request.params);
    const lease = leaseShown(await leaseHolderOf(request, identity), params);
    return sendFile(request, reply, await roads.lfs(lease, oid));
  });

  scope.get(objectPaths.commandOutput, async (request, reply) => {
    const lease = leaseShown(await leaseHolderOf(request, identity), read(ofJob, request.params));
    const { from } = read(OutputAsked, request.query);
    return sendOutput(reply, await roads.commandOutput(lease, from));
  });

  scope.get(objectPaths.runOutput, async (request, reply) => {
    await personOf(request, identity);
    const { task, command } = read(ofRun, request.params);
    const { from } = read(OutputAsked, request.query);
    return sendOutput(reply, await roads.runOutput(task, command, from));
  });

  scope.put(objectPaths.pack, async (request, reply) => {
    const params = read(ofPack, request.params);
    const lease = leaseShown(await pastHolderOf(request, identity), params);
    const taken = await roads.takePack(lease, params.commit, bodyOf(request, limits.packBytes));
    // The lease is over: the pack is kept, and it is no longer this worker's to complete (D20).
    if (taken === 'rescue')
      throw new FarmError('stale_lease', 'The lease is over; the pack is kept as a rescue', { kept: true });
    return reply.code(201).send({});
  });

  scope.put(objectPaths.output, async (request, reply) => {
    const params = read(ofOutput, request.params);
    const lease = leaseShown(await leaseHolderOf(request, identity), params);
    await roads.takeOutput(lease, params.segment, bodyOf(request, limits.outputSegmentBytes));
    return reply.code(201).send({});
  });

  scope.put(objectPaths.source, async (request, reply) => {
    const person = await personOf(request, identity);
    // As much as starting a Task asks for, which is all that a source is for.
    if (!hasRole(person, 'operator')) throw new FarmError('not_allowed');
    const { sha256 } = read(z.object({ sha256: Sha256 }), request.params);
    await roads.takeSource(person.id, sha256, bodyOf(request, limits.sourceBytes));
    return reply.code(201).send({});
  });

  scope.get(objectPaths.result, async (request, reply) => {
    await personOf(request, identity);
    const { task } = read(z.object({ task: TaskId }), request.params);
    const { branch, commit, ...file } = await roads.result(task);
    reply.header('longshore-branch', branch).header('longshore-commit', commit);
    return sendFile(request, reply, file);
  });

  scope.get(objectPaths.patch, async (request, reply) => {
    await personOf(request, identity);
    const { task } = read(z.object({ task: TaskId }), request.params);
    const file = await roads.patch(task);
    // An agent wrote it: no browser may take it for a page (H38).
    reply
      .header('content-disposition', `attachment; filename="${task}.patch"`)
      .header('x-content-type-options', 'nosniff');
    return sendFile(request, reply, file);
  });
}

/** The job and epoch of the path are those of the token: a token reads and writes its own lease's, no other's (H29). */
function leaseShown({ worker, job }: LeaseHolder, path: { readonly job: string; readonly epoch?: number }): LeaseShown {
  if (path.job !== job.job || (path.epoch !== undefined && path.epoch !== job.epoch))
    throw new FarmError('stale_lease');
  return { job: job.job, epoch: job.epoch, lease_id: job.lease_id, worker: worker.id, boot: worker.boot };
}

/** A command said it: no browser may take it for a page (H38). */
function sendOutput(reply: FastifyReply, { head, bytes, body }: OutputToSend): FastifyReply {
  return reply
    .header(headers.output, JSON.stringify(head))
    .header('content-type', 'application/octet-stream')
    .header('content-disposition', 'attachment; filename="output.log"')
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', 'no-store')
    .header('content-length', bytes)
    .send(body);
}

function bodyOf(request: FastifyRequest, most: number): Readable {
  const said = Number(request.headers['content-length'] ?? 0);
  if (said > most) throw new FarmError('too_large', `The body is over ${most} bytes`);
  return request.body instanceof Readable ? request.body : Readable.from([]);
}

function read<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidInput(schema, parsed.error.issues);
}
