import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { calculateJwkThumbprint, decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import { identityPaths, jobClaim, jobSubmit, keyList, keyRotate, TokenReply, whoami } from '#contracts';
import { aController, codeOf, type TestController, type TestWorker } from '../../../../../test/support/a-controller.js';
import { aPerson } from '../../../../../test/support/people.js';

let farms: readonly TestController[];
beforeAll(async () => {
  const first = await aController();
  const { database, data } = first;
  farms = [first, await aController({ database, data }), await aController({ database, data })];
});
afterAll(async () => {
  for (const farm of farms.toReversed()) await farm.close();
});

const at = (n: number): TestController => {
  const farm = farms[n % farms.length];
  if (!farm) throw new Error('no farm');
  return farm;
};

/** Makes the keys older than they are. */
function age(hours: number): void {
  const path = join(at(0).data, 'keys', 'signing.json');
  const stored = z.looseObject({ rotated_at: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8')));
  const rotated_at = new Date(Date.parse(stored.rotated_at) - hours * 3_600_000).toISOString();
  writeFileSync(path, JSON.stringify({ ...stored, rotated_at }));
}

const personToken = (farm: TestController, id: string) => farm.controller.services.identity.personToken(id).token;
const adminAt = (n: number) => at(n).person(personToken(at(n), at(0).admin.id));

async function renewed(worker: TestWorker): Promise<TestWorker> {
  const { token } = TokenReply.parse((await worker.renew()).body);
  return worker.with(token, worker.boot);
}

const published = async (farm: TestController) => {
  const { keys } = z
    .object({ keys: z.array(z.object({ kid: z.string(), x: z.string() })) })
    .parse((await farm.fetch(identityPaths.jwks)).body);
  return keys;
};

describe('a token on the wrong road', () => {
  it('S4.1 opens nothing: kinds of tokens do not stand in for each other, at any controller', async () => {
    const worker = await at(0).aWorker({ slots: 4 });
    await at(0).admin.call(jobSubmit, { kind: 'echo' });
    const jobs = await worker.call(jobClaim, { request_id: randomUUID() });
    const jobToken = jobs.jobs[0]?.token ?? '';
    expect(jobToken).not.toBe('');
    for (const farm of farms) {
      expect((await farm.person(jobToken).ask('whoami', {})).status).toBe(401);
      expect((await farm.person(worker.token).ask('whoami', {})).status).toBe(404);
      expect((await farm.person(at(0).admin.token).ask('job_claim', { request_id: randomUUID() })).status).toBe(404);
      for (const signature of [jobToken, worker.token].map((token) => token.split('.')[2]))
        expect((await farm.person(resigned(at(0).admin.token, signature)).ask('whoami', {})).status).toBe(401);
    }
    await expect(at(1).person(at(0).admin.token).call(whoami, {})).resolves.toMatchObject({ name: 'admin' });
  });
});

describe('the signing keys of three controllers', () => {
  it('S4.4 rotate under load without a refused call, with old tokens and new ones, and are published before they sign', async () => {
    let workers = await Promise.all(farms.map((farm) => farm.aWorker({ slots: 16 })));
    const person = await aPerson(at(0), 'operator');
    /** Each controller reads the tokens of each. */
    let old = farms.map((farm) => personToken(farm, person.id));
    let stop = false;
    let calls = 0;
    const refused: string[] = [];
    const note = (answer: { status: number; text: string }) => {
      calls += 1;
      if (answer.status !== 200) refused.push(answer.text);
    };
    const loop = async (turn: () => Promise<void>): Promise<void> => {
      while (!stop) await turn();
    };
    const load = farms.flatMap((farm, n) => [
      loop(async () =>
        note(
          await at(n + 1)
            .person(old[n] ?? '')
            .ask('whoami', {}),
        ),
      ),
      loop(async () =>
        note(
          await at(n + 2)
            .person(personToken(farm, person.id))
            .ask('whoami', {}),
        ),
      ),
      loop(() => work(workers[n], note)),
    ]);
    const someCalls = async () => {
      for (const goal = calls + 60; calls < goal; ) await new Promise((resolve) => setImmediate(resolve));
    };

    const signers = new Set<unknown>();
    for (let n = 0; n < 3; n += 1) {
      const before = (await published(at(n + 1))).map(({ kid }) => kid);
      age(2);
      const ring = await adminAt(n).call(keyRotate, {}, { confirm: true });
      const current = ring.keys.find(({ use }) => use === 'current')?.kid;
      expect(before).toContain(current);
      signers.add(current);
      await someCalls();
      // As the upkeep of each does it every minute; and what was signed by the key before is renewed within its hour.
      for (const farm of farms) await farm.controller.services.identity.upkeep();
      old = farms.map((farm) => personToken(farm, person.id));
      expect(old.map((token) => decodeProtectedHeader(token).kid)).toEqual([current, current, current]);
      workers = await Promise.all(workers.map(renewed));
      await someCalls();
    }
    stop = true;
    await Promise.all(load);
    expect(refused).toEqual([]);
    expect(signers.size).toBe(3);
  });

  it('S4.4 are rotated by their age, by one controller of those that look at once', async () => {
    for (const farm of farms) await farm.controller.services.identity.upkeep();
    const due = () => Promise.all(farms.map((farm) => farm.controller.services.identity.rotateDueKeys(30)));
    expect(await due()).toEqual([false, false, false]);
    age(31 * 24);
    for (const farm of farms) await farm.controller.services.identity.upkeep();
    expect((await due()).filter(Boolean)).toHaveLength(1);
    expect((await due()).filter(Boolean)).toHaveLength(0);
    age(60 * 24);
    expect(await at(0).controller.services.identity.rotateDueKeys(0)).toBe(false);
  });

  it('are listed by name, and not rotated again while somebody may not know the next one', async () => {
    await at(0).controller.services.identity.upkeep();
    age(2);
    await adminAt(0).call(keyRotate, {}, { confirm: true });
    const proposal = await adminAt(0).ask('key_rotate', {});
    expect([proposal.status, codeOf(proposal)]).toEqual([409, 'confirmation_required']);
    const again = await adminAt(1).ask('key_rotate', {}, { confirm: true });
    expect([again.status, codeOf(again)]).toEqual([409, 'conflict']);
    const ring = await adminAt(0).call(keyList, {});
    expect(ring.keys.map(({ use }) => use)).toEqual(['current', 'next', 'previous']);
    const shown = await published(at(0));
    for (const { kid } of ring.keys) {
      const x = shown.find((key) => key.kid === kid)?.x ?? '';
      expect(await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })).toBe(kid);
    }
    expect(JSON.stringify(ring)).not.toContain('private');
  });
});

const resigned = (token: string, signature = '') => [...token.split('.').slice(0, 2), signature].join('.');

/** One job from its claim to its end. */
async function work(worker: TestWorker | undefined, note: (answer: { status: number; text: string }) => void) {
  if (!worker) return;
  await adminAt(0).ask('job_submit', { kind: 'echo' });
  const claimed = await worker.ask('job_claim', { request_id: randomUUID() });
  note(claimed);
  const { jobs } = jobClaim.output.parse(Object(claimed.body).result);
  for (const { id: job_id, epoch, lease_id, token } of jobs) {
    const fence = { job_id, epoch, lease_id };
    note(await worker.ask('job_complete', { ...fence, ended: 'done', result: {} }, { jobToken: token }));
  }
}
