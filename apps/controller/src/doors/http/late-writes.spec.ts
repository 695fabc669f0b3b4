import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  checkpoint,
  DispatchPayload,
  getCurrentContext,
  headers,
  jobClaim,
  jobComplete,
  jobFail,
  jobHeartbeat,
  type LeasedJob,
  objectPaths,
  setWorkPlan,
  taskOverview,
  taskStart,
  workflowImport,
} from '#contracts';
import { captureWorkspace, cloneWorkspace, packFor } from '#git';
import { type Database, openDatabase, statement } from '#store';
import {
  type Answer,
  aController,
  codeOf,
  type TestController,
  type TestWorker,
} from '../../../../../test/support/a-controller.js';
import { agent, when } from '../../../../../test/support/git-round.js';
import { writeFiles } from '../../../../../test/support/repositories.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';

let farm: TestController;
let owner: Database;
beforeAll(async () => {
  farm = await aController();
  owner = openDatabase({ url: farm.database.ownerUrl, max: 1 });
  await farm.admin.call(workflowImport, { document: 'kind: workflow\nid: solo\ndescription: One\nlead: {id: lead}\n' });
});
afterAll(async () => {
  await farm.close();
  await owner.close();
});

const report = { slots: 4, busy: 0, labels: [] };
const pastLease = () => owner.run(statement('test.pass', `update farm_clock set farm_at = farm_at + interval '31 s'`));

/** Whose bearer, whose job token. */
interface Shown {
  readonly worker: TestWorker;
  readonly lease: LeasedJob;
  readonly token?: string;
}

async function claim(worker: TestWorker): Promise<LeasedJob> {
  const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
  if (!jobs[0]) throw new Error('there was nothing to claim');
  return jobs[0];
}

function road(path: string, { id, epoch }: LeasedJob, more: Readonly<Record<string, string>> = {}): string {
  const names: Readonly<Record<string, string>> = { job: id, epoch: String(epoch), ...more };
  return path.replace(/:(\w+)/g, (_, name: string) => names[name] ?? name);
}

async function send({ worker, lease, token = lease.token }: Shown, path: string, body?: Buffer): Promise<Answer> {
  const sent = { authorization: `Bearer ${worker.token}`, [headers.jobToken]: token };
  if (body === undefined) return farm.fetch(path, { headers: sent });
  const asBytes = { ...sent, 'content-type': 'application/octet-stream' };
  return farm.fetch(path, { method: 'PUT', headers: asBytes, body: new Uint8Array(body) });
}

/** A capture of this lease's base with a file changed, as its worker makes it. */
async function work(shown: Shown): Promise<{ readonly commit: string; readonly pack: Buffer }> {
  const payload = DispatchPayload.parse(shown.lease.payload);
  const [folder, bearer] = [tempDir('late'), `Bearer ${shown.worker.token}`];
  const [dir, gitDir, bundle] = [join(folder, 'tree'), join(folder, 'own.git'), join(folder, 'base.bundle')];
  const answer = await fetch(`${farm.url}${road(objectPaths.bundle, shown.lease)}`, {
    headers: { authorization: bearer, [headers.jobToken]: shown.lease.token },
  });
  await writeFile(bundle, Buffer.from(await answer.arrayBuffer()));
  await cloneWorkspace({ bundle, base: payload.base, dir, gitDir, name: 'lead', author: agent });
  writeFiles(dir, { 'work.txt': randomUUID() });
  const captured = await captureWorkspace({
    dir,
    gitDir,
    base: payload.base,
    taskDirectory: payload.task_directory,
    message: 'Work',
    author: agent,
    when,
  });
  if (captured.kind !== 'captured') throw new Error('nothing was captured');
  const { path } = await packFor({
    gitDir,
    commit: captured.commit,
    base: payload.base,
    out: join(folder, 'work.pack'),
  });
  return { commit: captured.commit, pack: await readFile(path) };
}

type Work = Awaited<ReturnType<typeof work>>;

/** Every way there is to write or read under a lease, and what each is answered. */
async function tryAll(shown: Shown, { commit, pack }: Work): Promise<Readonly<Record<string, string>>> {
  const { worker, lease, token: jobToken = lease.token } = shown;
  const fence = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
  const options = () => ({ jobToken, key: randomUUID() });
  const beat = await worker.call(jobHeartbeat, {
    worker: report,
    leases: [{ ...fence, phase: 'started', idle_ms: 0 }],
  });
  const answers = {
    complete: await worker.ask(jobComplete.name, { ...fence, ended: 'crashed', result: { commit } }, { jobToken }),
    fail: await worker.ask(jobFail.name, { ...fence, reason: 'job_error', retryable: true }, { jobToken }),
    checkpoint: await worker.ask(checkpoint.name, { summary: 'Late', outcome: 'green' }, options()),
    plan: await worker.ask(setWorkPlan.name, { steps: [{ step: 'Late', status: 'pending' }] }, options()),
    context: await worker.ask(getCurrentContext.name, {}, options()),
    request: await send(shown, road(objectPaths.request, lease)),
    bundle: await send(shown, road(objectPaths.bundle, lease)),
    pack: await send(shown, road(objectPaths.pack, lease, { commit }), pack),
    output: await send(shown, road(objectPaths.output, lease, { segment: '7' }), Buffer.from('late')),
  };
  const codes = Object.entries(answers).map(([way, answer]) => [way, answer.status < 300 ? 'taken' : codeOf(answer)]);
  return { ...Object.fromEntries(codes), beat: beat.leases[0]?.held === false ? beat.leases[0].code : 'held' };
}

const ways = ['complete', 'fail', 'checkpoint', 'plan', 'context', 'request', 'bundle', 'pack', 'output', 'beat'];
const allStale = Object.fromEntries(ways.map((way) => [way, 'stale_lease']));

/** A Task whose first machine was lost and whose second has it now. */
async function handed() {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  const [north, south] = [await farm.aWorker({ pool }), await farm.aWorker({ pool })];
  const { task_id } = await farm.admin.call(taskStart, { workflow_id: 'solo', prompt: 'Do it.', pool });
  const lost: Shown = { worker: north, lease: await claim(north) };
  const made = await work(lost);
  const fence = { job_id: lost.lease.id, epoch: 1, lease_id: lost.lease.lease_id };
  await north.call(jobHeartbeat, { worker: report, leases: [{ ...fence, phase: 'started', idle_ms: 0 }] });
  await pastLease();
  const held: Shown = { worker: south, lease: await claim(south) };
  return { task_id, lost, held, made };
}

describe('a machine that wakes up late', () => {
  it('P2 S5.2 is refused with the one code at every door, and what its successor does stands', async () => {
    const { task_id, lost, held, made } = await handed();
    expect(held.lease).toMatchObject({ id: lost.lease.id, epoch: 2 });
    expect(await tryAll(lost, made)).toEqual(allStale);
    const { worker, lease } = held;
    const key = randomUUID();
    await worker.call(checkpoint, { summary: 'Done', outcome: 'green' }, { jobToken: lease.token, key });
    const end = { job_id: lease.id, epoch: lease.epoch, lease_id: lease.lease_id };
    const result = { handover: { call_id: key } };
    await worker.call(jobComplete, { ...end, ended: 'handover', result }, { jobToken: lease.token });
    expect(await tryAll(lost, made)).toEqual(allStale);
    const task = await farm.admin.call(taskOverview, { task_id });
    expect(task).toMatchObject({ status: 'completed', result: { summary: 'Done', files_changed: [] } });
    // the late pack is kept, and nothing else of it
    expect(task.rescues).toHaveLength(1);
  });

  it('D17 H24 gets nowhere with another machine’s token, nor with yesterday’s under its own', async () => {
    const { lost, held, made } = await handed();
    const mixed: readonly Shown[] = [
      { ...held, worker: lost.worker },
      { ...held, token: lost.lease.token },
      { ...lost, token: held.lease.token },
      { ...held, lease: { ...held.lease, epoch: 1 } },
      { ...held, lease: { ...held.lease, epoch: 3 } },
      { ...held, lease: { ...held.lease, id: randomUUID() } },
    ];
    const byPath = ['pack', 'output'] as const;
    for (const shown of mixed.slice(0, 3)) {
      const answered = await tryAll(shown, made);
      for (const way of ['checkpoint', 'plan', 'context', 'request', ...byPath])
        expect({ [way]: answered[way] }).toEqual({ [way]: 'stale_lease' });
    }
    for (const shown of mixed.slice(3)) {
      const answered = await tryAll({ ...shown, token: held.lease.token }, made);
      for (const way of [...byPath, 'complete', 'fail', 'beat'])
        expect({ [way]: answered[way] }).toEqual({ [way]: 'stale_lease' });
    }
  });
});
