import { randomBytes } from 'node:crypto';
import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aWorker } from '../../../../test/support/a-worker.js';
import { oneWorker } from '../../../../test/support/one-worker.js';
import { StandInController } from '../../../../test/support/stand-in-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';

const shared = oneWorker();

describe('joining a farm', () => {
  it('H36 sends no ticket to a controller that shows another key than the ticket names', async () => {
    const farm = await StandInController.open();
    const secret = randomBytes(24).toString('base64url');
    const ticket = `ls-join.${secret}.${randomBytes(32).toString('base64url')}`;
    const worker = await aWorker(farm, { ready: false, ticket });
    expect(await worker.process.ended).toBe(4);
    expect(worker.process.stderr()).toContain('wrong_fingerprint');
    expect(worker.process.stderr()).not.toContain(secret);
    expect(JSON.stringify(farm.heard)).not.toContain(secret);
  });

  it('H36 enrols again with the same key when the answer was lost', async () => {
    const farm = await StandInController.open();
    let cuts = 0;
    farm.weather = ({ path }) => (path === '/v1/enrol' && cuts++ === 0 ? 'cut_after' : 'fine');
    await aWorker(farm);
    const keys = farm.requests(/enrol/).map(({ body }) => /"public_key":"([^"]+)"/.exec(JSON.stringify(body))?.[1]);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('keeps its identity for itself, and needs no ticket a second time', async () => {
    const farm = await StandInController.open();
    const first = await aWorker(farm);
    expect(statSync(join(first.home, 'identity.json')).mode & 0o777).toBe(0o600);
    first.process.signal('SIGTERM');
    await first.process.ended;
    const second = await aWorker(farm, { home: first.home, ticket: '' });
    expect(farm.requests(/enrol/)).toHaveLength(1);
    const boots = farm.requests(/\/v1\/token/).map(({ body }) => /"boot":"([^"]+)"/.exec(JSON.stringify(body))?.[1]);
    expect(new Set(boots).size).toBe(boots.length);
    second.process.signal('SIGTERM');
    await second.process.ended;
    chmodSync(join(first.home, 'identity.json'), 0o644);
    const third = await aWorker(farm, { home: first.home, ready: false });
    expect(await third.process.ended).toBe(1);
    expect(third.process.stderr()).toContain('misconfigured');
  });

  it('gets another token when the one that it has is refused, and goes on', async () => {
    const { farm, worker } = await shared();
    const tokens = farm.requests(/\/v1\/token/).length;
    let refused = 0;
    farm.weather = ({ path }) =>
      path.endsWith('job_claim') && refused++ === 0 ? { problem: 'unauthenticated' } : 'fine';
    const done = 'steps:\n  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}\n';
    // the claim that is held open already takes the first, the refused one would have taken the second
    const first = farm.add(done);
    await worker.of(first).until('claimed');
    await waitUntil(() => refused > 0, { what: 'a claim to be refused' });
    const second = farm.add(done);
    await worker.of(second).until('completed');
    expect(second.state).toBe('done');
    expect(farm.requests(/\/v1\/token/).length).toBe(tokens + 1);
  });

  it('D16 names the host that uses the identity and ends with code 6', async () => {
    const farm = await StandInController.open();
    farm.inUse = 'attic';
    const worker = await aWorker(farm, { ready: false });
    expect(await worker.process.ended).toBe(6);
    expect(worker.process.stderr()).toContain('attic');
  });

  it('D16 waits for the identity where it is told to', async () => {
    const farm = await StandInController.open();
    farm.inUse = 'attic';
    const worker = await aWorker(farm, { ready: false, args: ['--wait'] });
    await waitUntil(() => farm.requests(/\/v1\/token/).length >= 2, { within: 20_000 });
    expect(worker.process.stdout()).toBe('');
    farm.inUse = undefined;
    await waitUntil(() => worker.process.stdout().includes('"ready":true'), { within: 20_000 });
  });

  it('W18 lets one process only work in a folder', async () => {
    const { farm, worker: first } = await shared();
    const second = await aWorker(farm, { home: first.home, ready: false });
    expect(await second.process.ended).toBe(6);
    expect(second.process.stderr()).toContain(String(first.process.pid));
  });

  it('H22 takes the ticket from a file, and no argument', async () => {
    const farm = await StandInController.open();
    const file = join(tempDir('ticket'), 'ticket');
    writeFileSync(file, farm.ticket);
    await aWorker(farm, { ticket: '', env: { LONGSHORE_JOIN_TICKET_FILE: file } });
    const refused = await aWorker(farm, { ready: false, args: [farm.ticket] });
    expect(await refused.process.ended).toBe(1);
    expect(refused.process.stderr()).not.toContain('ls-join');
  });

  it('H36 speaks plain http to its own machine only', async () => {
    const farm = await StandInController.open();
    const worker = await aWorker(farm, { ready: false, env: { LONGSHORE_URL: 'http://192.0.2.1:4180' } });
    expect(await worker.process.ended).toBe(1);
    expect(worker.process.stderr()).toContain('https');
  });
});
