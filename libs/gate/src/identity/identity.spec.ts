import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { EnrolReply, WorkerReport } from '#contracts';
import { type Database, openDatabase, readFarm, statement } from '#store';
import { aDatabase } from '../../../../test/support/database.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { fingerprintOf, isSignedBy } from '../keys/ed25519.js';
import { type FarmKeys, openFarmKeys } from '../keys/farm-keys.js';
import type { WorkerPrincipal } from '../principal.js';
import { Identity } from './identity.js';

let database: Database;
let owner: Database;
let keys: FarmKeys;
let identity: Identity;
let farmId: string;
beforeAll(async () => {
  const copy = await aDatabase();
  database = openDatabase({ url: copy.appUrl, max: 4 });
  owner = openDatabase({ url: copy.ownerUrl, max: 1 });
  keys = await openFarmKeys(tempDir('keys'));
  farmId = (await readFarm(database)).id;
  identity = new Identity({ database, keys, farmId, leaseMs: 30_000 });
});
afterAll(async () => {
  await database.close();
  await owner.close();
});

const lockWorker = statement<unknown>('test.lock_worker', 'select from worker where id = $id for update nowait');
const waiting = statement<unknown>(
  'test.waiting',
  `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
);
const newKey = () => generateKeyPairSync('ed25519').privateKey;
const raw = (key: KeyObject) => z.object({ x: z.string() }).parse(key.export({ format: 'jwk' })).x;
const signed = (key: KeyObject, text: string) => sign(null, Buffer.from(text), key).toString('base64url');
const passTime = (interval: string) =>
  owner.run(statement('test.pass', `update farm_clock set farm_at = farm_at + $interval::interval`), { interval });

const invite = (changes: object = {}) =>
  database.transaction((tx) => identity.invite(tx, { pool: 'default', labels: [], slots: 4, ...changes }));

function enrol(ticket: string, key = newKey(), by = identity): Promise<EnrolReply> {
  const { challenge } = by.challenge();
  const signature = signed(key, `enrol\n${challenge}\n${ticket}`);
  return by.enrol({ ticket, public_key: raw(key), challenge, signature, name: 'm', host: 'north' });
}

function askToken(principal: string, key: KeyObject, boot: string, host = 'north', by = identity) {
  const { challenge } = by.challenge();
  return by.token({
    principal,
    challenge,
    boot,
    host,
    signature: signed(key, `token\n${challenge}\n${principal}\n${boot}`),
  });
}

async function aWorker(changes: object = {}) {
  const key = newKey();
  const { worker_id: id } = await enrol(await invite(changes), key);
  const boot = randomUUID();
  const { token } = await askToken(id, key, boot);
  return { id, key, boot, token };
}

const report = (changes: Partial<WorkerReport> = {}): WorkerReport => ({
  slots: 2,
  busy: 0,
  labels: [],
  accounts: [],
  versions: {},
  ...changes,
});

async function principalOf(token: string): Promise<WorkerPrincipal> {
  const { principal } = await identity.authenticate(token, ['node', 'cli', 'ui']);
  if (principal.kind !== 'worker') throw new Error('no worker');
  return principal;
}

describe('a join ticket', () => {
  it('H36 holds 192 random bits and the fingerprint of the key that its controller shows', async () => {
    const [, secret = '', fingerprint] = (await invite()).split('.');
    expect(Buffer.from(secret, 'base64url')).toHaveLength(24);
    const { challenge, controller_key, signature } = identity.challenge();
    expect(fingerprintOf(controller_key)).toBe(fingerprint);
    expect(isSignedBy(controller_key, `challenge\n${challenge}`, signature)).toBe(true);
  });

  it('H36 is kept as a hash only', async () => {
    const ticket = await invite();
    const rows = await owner.all(statement<object>('test.tickets', 'select * from ticket'));
    expect(JSON.stringify(rows)).not.toContain(ticket.split('.')[1]);
  });

  it('D16 belongs to the first key that shows it', async () => {
    const ticket = await invite();
    await enrol(ticket);
    await expect(enrol(ticket)).rejects.toMatchObject({ code: 'ticket_invalid' });
  });

  it('D16 shown by two keys at once makes one worker', async () => {
    const ticket = await invite();
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => enrol(ticket)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('H36 gives the same key the same again, when the reply was lost, also at once', async () => {
    const ticket = await invite();
    const key = newKey();
    const [first, ...more] = await Promise.all(Array.from({ length: 4 }, () => enrol(ticket, key)));
    for (const reply of [...more, await enrol(ticket, key)]) expect(reply).toEqual(first);
  });

  it('H36 ends after ten minutes, but not for the key that has it', async () => {
    const used = await invite();
    const key = newKey();
    await enrol(used, key);
    const unused = await invite();
    await owner.run(statement('test.age', `update ticket set expires_at = clock_timestamp()`));
    await expect(enrol(unused)).rejects.toMatchObject({ code: 'ticket_invalid' });
    await expect(enrol(used, key)).resolves.toBeDefined();
  });

  it('H36 of another farm, made up, or shown without its key is refused', async () => {
    const ticket = await invite();
    const [head, secret] = ticket.split('.');
    await expect(enrol(`${head}.${secret}.${fingerprintOf(raw(newKey()))}`)).rejects.toMatchObject({
      code: 'wrong_fingerprint',
    });
    await expect(enrol(`${head}.${'A'.repeat(32)}.${identity.fingerprint}`)).rejects.toMatchObject({
      code: 'ticket_invalid',
    });
    await expect(enrol('ls-join.nonsense')).rejects.toMatchObject({ code: 'ticket_invalid' });
    const { challenge } = identity.challenge();
    const stolen = {
      ticket,
      public_key: raw(newKey()),
      challenge,
      signature: signed(newKey(), `enrol\n${challenge}\n${ticket}`),
    };
    await expect(identity.enrol({ ...stolen, name: 'm', host: 'h' })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(enrol(ticket)).resolves.toBeDefined();
  });
});

describe('a challenge', () => {
  it('H15 is good for a minute of the farm’s own clock, and only when it is the farm’s', async () => {
    let now = Date.now();
    const clocked = new Identity({ database, keys, farmId, leaseMs: 30_000, now: () => now });
    const { id, key, boot } = await aWorker();
    const ask = (challenge: string) =>
      clocked.token({ principal: id, challenge, boot, signature: signed(key, `token\n${challenge}\n${id}\n${boot}`) });
    const { challenge } = clocked.challenge();
    await expect(ask(challenge)).resolves.toBeDefined();
    const [, random, seal] = challenge.split('.');
    await expect(ask(`zzzzzzzzz.${random}.${seal}`)).rejects.toMatchObject({ code: 'unauthenticated' });
    now += 61_000;
    await expect(ask(challenge)).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('what is fixed at enrolment', () => {
  it('H26 comes from the ticket: pool, labels and slots', async () => {
    const key = newKey();
    const reply = await enrol(await invite({ pool: 'gpu', labels: ['host:north', 'gpu'], slots: 2 }), key);
    expect(reply).toMatchObject({ pool: 'gpu', labels: ['host:north', 'gpu'], slot_ceiling: 2 });
  });

  it('H26 can only be narrowed by a beat: no label is won, no slot beyond the ceiling', async () => {
    const { token } = await aWorker({ labels: ['gpu', 'os:linux'], slots: 3 });
    await identity.workers.recordBeat(
      database,
      await principalOf(token),
      report({ labels: ['os:linux', 'host:payroll'], slots: 99 }),
    );
    expect(await principalOf(token)).toMatchObject({ labels: ['os:linux'], slots: 3 });
    await identity.workers.recordBeat(
      database,
      await principalOf(token),
      report({ labels: ['gpu', 'os:linux'], slots: 1 }),
    );
    expect(await principalOf(token)).toMatchObject({ labels: ['gpu', 'os:linux'], slots: 1 });
  });
});

describe('one identity', () => {
  it('D16 is of one boot: another is told whose host has it, until a lease time of silence', async () => {
    const { id, key, token } = await aWorker();
    const second = randomUUID();
    await expect(askToken(id, key, second, 'south')).rejects.toMatchObject({
      code: 'identity_in_use',
      detail: expect.stringContaining('north'),
    });
    await passTime('29 s');
    await expect(askToken(id, key, second, 'south')).rejects.toMatchObject({ code: 'identity_in_use' });
    await passTime('2 s');
    await expect(askToken(id, key, second, 'south')).resolves.toBeDefined();
    await expect(identity.authenticate(token, ['node', 'cli', 'ui'])).rejects.toMatchObject({
      code: 'identity_in_use',
      detail: expect.stringContaining('south'),
    });
  });

  it('D16 is kept by beats, and free at once after the goodbye', async () => {
    const { id, key, token } = await aWorker();
    await passTime('29 s');
    await identity.workers.recordBeat(database, await principalOf(token), report());
    await passTime('29 s');
    await expect(askToken(id, key, randomUUID())).rejects.toMatchObject({ code: 'identity_in_use' });
    await identity.workers.recordBeat(database, await principalOf(token), report({ goodbye: true }));
    expect((await principalOf(token)).accepting).toBe(false);
    const next = randomUUID();
    const { token: fresh } = await askToken(id, key, next);
    expect(await principalOf(fresh)).toMatchObject({ boot: next, accepting: true });
  });

  it('D16 asked for by two boots at once goes to one', async () => {
    const key = newKey();
    const { worker_id } = await enrol(await invite(), key);
    const boots = Array.from({ length: 5 }, () => askToken(worker_id, key, randomUUID()));
    const outcomes = await Promise.allSettled(boots);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('D16 belongs to its key: no other signs for it', async () => {
    const { id, boot } = await aWorker();
    await expect(askToken(id, newKey(), boot)).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(askToken('w_zzzzzzzz', newKey(), boot)).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('a worker token', () => {
  it('lives a quarter of an hour and is worth nothing once its worker is no more', async () => {
    const { id, key, boot, token } = await aWorker();
    expect(await askToken(id, key, boot)).toMatchObject({ expires_in_seconds: 900 });
    expect(await principalOf(token)).toMatchObject({ kind: 'worker', id, boot });
    await owner.run(statement('test.disable', 'update principal set disabled_at = now() where id = $id'), { id });
    identity = new Identity({ database, keys, farmId, leaseMs: 30_000 });
    await expect(identity.authenticate(token, ['node', 'cli', 'ui'])).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  it('H24 holds for jobs of this worker only: a job token of another is stale', async () => {
    const one = await aWorker();
    const two = await aWorker();
    const lease = { job: randomUUID(), epoch: 1, lease_id: randomUUID(), kind: 'dispatch', lease_ms: 30_000 };
    const jobToken = identity.mintJobToken({ ...lease, worker: one.id });
    await expect(identity.jobOf(jobToken, await principalOf(one.token))).resolves.toMatchObject({
      job: lease.job,
      epoch: 1,
    });
    await expect(identity.jobOf(jobToken, await principalOf(two.token))).rejects.toMatchObject({ code: 'stale_lease' });
    await expect(identity.jobOf(one.token, await principalOf(one.token))).rejects.toMatchObject({
      code: 'stale_lease',
    });
    await expect(identity.authenticate(jobToken, ['node', 'cli', 'ui'])).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});

describe('a machine at fault', () => {
  const fail = (id: string, scope: string) =>
    database.transaction((tx) => identity.workers.recordEnvironmentFailure(tx, id, scope, 'disk full'));

  it('H11 is sent into quarantine by three failures in a row over different Tasks, with the reason, until a person resumes it', async () => {
    const { id, token } = await aWorker();
    expect([await fail(id, 't_1'), await fail(id, 't_1'), await fail(id, 't_1'), await fail(id, 't_2')]).toEqual(
      Array(4).fill(false),
    );
    expect(await fail(id, 't_3')).toBe(true);
    expect(await principalOf(token)).toMatchObject({ accepting: false });
    expect(await identity.workers.recordBeat(database, await principalOf(token), report())).toMatchObject({
      quarantined: 'disk full',
    });
    await database.transaction((tx) => identity.workers.resume(tx, id));
    expect(await principalOf(token)).toMatchObject({ accepting: true });
    expect(await fail(id, 't_4')).toBe(false);
  });

  it('P3 hears with each beat which generation of the configuration is in force', async () => {
    const { token } = await aWorker();
    const heard = async () =>
      (await identity.workers.recordBeat(database, await principalOf(token), report())).config_version;
    expect(await heard()).toBe(0);
    await database.run(statement('test.put_generation', `insert into allowed_file (generation, hash) values (7, 'x')`));
    expect(await heard()).toBe(7);
  });

  it('shows people why it takes no new work, as its last beat said', async () => {
    const { id, token } = await aWorker();
    const noteAfter = async (refuses?: string) => {
      await identity.workers.recordBeat(
        database,
        await principalOf(token),
        report(refuses === undefined ? {} : { refuses }),
      );
      return (await identity.workers.view(database, id)).note;
    };
    expect(await noteAfter('Its disk is short of room.')).toBe('Its disk is short of room.');
    expect(await noteAfter()).toBeNull();
  });

  it('H11 is forgiven by a job that ran', async () => {
    const { id, token } = await aWorker();
    await fail(id, 't_1');
    await fail(id, 't_2');
    await principalOf(token);
    await database.transaction(async (tx) => identity.workers.clearEnvironmentFailures(tx, [id]));
    expect(await fail(id, 't_3')).toBe(false);
  });

  it('H12 is forgiven in one order, whoever ran first: two groups of ends do not wait for each other', async () => {
    const machines = await Promise.all([aWorker(), aWorker()]);
    for (const { id, token } of machines) {
      await fail(id, 't_1');
      await principalOf(token);
    }
    const [low = '', high = ''] = machines.map(({ id }) => id).sort();
    const cleared = await owner.transaction(async (tx) => {
      await tx.run(lockWorker, { id: low });
      const group = database.transaction(async (of) => identity.workers.clearEnvironmentFailures(of, [high, low]));
      await waitUntil(async () => (await database.all(waiting)).length > 0, { what: 'the group waits for the first' });
      // The second is nobody's: who has the first may go on to it.
      await tx.run(lockWorker, { id: high });
      return { group };
    });
    await cleared.group;
  });
});
