import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetch } from 'undici';
import { z } from 'zod';
import { FarmError, headers, objectPaths, Problem } from '#contracts';
import { packFor } from '#git';
import { readSecretFile } from '../../client/private-read.js';
import { gitIn } from './library.js';
import type { RefusedWrite, Session } from './stage.js';

/** What a worker notes of the tokens that it holds, where it was asked to: for this demonstration. */
const HeldTokens = z.looseObject({
  worker: z.string(),
  jobs: z.record(z.string(), z.looseObject({ epoch: z.int(), lease_id: z.string(), token: z.string() })),
});

type Write = Readonly<{ op: string; path: string; method: 'POST' | 'PUT'; type: string; body: string | Buffer }>;

/** The four writes of a worker that woke up too late, with its own tokens and with work that would hold: each must be refused. */
export async function sendLateWrites(
  url: string,
  tokenFile: string,
  library: string,
  { job, epoch }: Session,
): Promise<readonly RefusedWrite[]> {
  const held = HeldTokens.parse(JSON.parse((await readSecretFile(tokenFile)) ?? '{}'));
  const lease = held.jobs[job];
  if (lease === undefined || lease.epoch !== epoch) {
    throw new FarmError('internal', 'The paused worker noted no tokens for its job.');
  }
  const fence = { job_id: job, epoch, lease_id: lease.lease_id };
  const { commit, pack } = await lateWork(library);
  const road = (path: string) => path.replace(':job', job).replace(':epoch', String(epoch));
  const writes = [
    operation('job_complete', { ...fence, ended: 'silent', result: {} }),
    operation('checkpoint', { summary: 'This comes too late.' }),
    bytes('pack', road(objectPaths.pack).replace(':commit', commit), pack),
    bytes('output', road(objectPaths.output).replace(':segment', '40'), Buffer.from('This comes too late.')),
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

const operation = (op: string, input: unknown): Write => ({
  op,
  path: `/v1/operations/${op}`,
  method: 'POST',
  type: 'application/json',
  body: JSON.stringify({ input }),
});

const bytes = (op: string, path: string, body: Buffer): Write => ({
  op,
  path,
  method: 'PUT',
  type: 'application/octet-stream',
  body,
});

/** A commit on the Task's base, as a worker would send it: what is wrong with it is its time alone. */
async function lateWork(library: string): Promise<{ readonly commit: string; readonly pack: Buffer }> {
  const base = await gitIn(library, ['rev-parse', 'HEAD']);
  const commit = await gitIn(library, ['commit-tree', '-p', base, '-m', 'Too late', `${base}^{tree}`]);
  const folder = await mkdtemp(join(tmpdir(), 'longshore-late-'));
  try {
    const { path } = await packFor({ gitDir: join(library, '.git'), commit, base, out: join(folder, 'pack') });
    return { commit, pack: await readFile(path) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
