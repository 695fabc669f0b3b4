import { randomUUID } from 'node:crypto';
import { fetch } from 'undici';
import { z } from 'zod';
import { FarmError, headers, objectPaths, Problem } from '#contracts';
import { readSecretFile } from '../../client/private-read.js';
import type { RefusedWrite, Session } from './stage.js';

/** What a worker notes of the tokens that it holds, where it was asked to: for this demonstration. */
const HeldTokens = z.looseObject({
  worker: z.string(),
  jobs: z.record(z.string(), z.looseObject({ epoch: z.int(), lease_id: z.string(), token: z.string() })),
});

/** The four writes of a worker that woke up too late, with its own tokens: each must be refused. */
export async function sendLateWrites(
  url: string,
  tokenFile: string,
  { job, epoch }: Session,
): Promise<readonly RefusedWrite[]> {
  const held = HeldTokens.parse(JSON.parse((await readSecretFile(tokenFile)) ?? '{}'));
  const lease = held.jobs[job];
  if (lease === undefined || lease.epoch !== epoch) {
    throw new FarmError('internal', 'The paused worker noted no tokens for its job.');
  }
  const fence = { job_id: job, epoch, lease_id: lease.lease_id };
  const road = (path: string) =>
    path
      .replace(':job', job)
      .replace(':epoch', String(epoch))
      .replace(':commit', 'f'.repeat(40))
      .replace(':segment', '9000');
  const operation = (name: string, input: unknown) => ({
    op: name,
    path: `/v1/operations/${name}`,
    method: 'POST',
    type: 'application/json',
    body: JSON.stringify({ input }),
  });
  const bytes = (op: string, path: string) => ({
    op,
    path: road(path),
    method: 'PUT',
    type: 'application/octet-stream',
    body: 'too late',
  });
  const writes = [
    operation('job_complete', { ...fence, ended: 'silent', result: {} }),
    operation('checkpoint', { summary: 'This comes too late.' }),
    bytes('pack', objectPaths.pack),
    bytes('output', objectPaths.output),
  ];
  const refused: RefusedWrite[] = [];
  for (const { op, path, method, type, body } of writes) {
    const response = await fetch(`${url}${path}`, {
      method,
      body,
      headers: {
        authorization: `Bearer ${held.worker}`,
        [headers.jobToken]: lease.token,
        [headers.idempotencyKey]: randomUUID(),
        'content-type': type,
      },
    });
    const text = await response.text();
    if (response.ok) throw new FarmError('internal', `The late write ${op} was accepted.`);
    refused.push({ op, epoch, code: Problem.parse(JSON.parse(text)).code });
  }
  return refused;
}
