import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type AnsweringFarm,
  type Asked,
  anAnsweringFarm,
  problem,
  type Reply,
  runCli,
} from '../../../test/support/answering-farm.js';
import { tempDir } from '../../../test/support/temp-dir.js';

let farm: AnsweringFarm | undefined;
afterEach(async () => {
  await farm?.close();
  farm = undefined;
});

const job = '3f0f6a52-58a8-4f67-9a3c-0c7f5a1f6b11';

async function ask(words: readonly string[], answer: (asked: Asked) => Reply | undefined, terminal = false) {
  farm = await anAnsweringFarm(answer);
  return await runCli(words, { env: { LONGSHORE_CREDENTIAL: farm.credential }, terminal });
}

describe('the command line', () => {
  it('A9.4 ends with 2 for an unknown command, an unknown flag and a wrong argument, without a farm', async () => {
    for (const words of [
      ['frobnicate'],
      ['queue', 'explode'],
      ['status', '--bad'],
      ['queue', 'requeue'],
      ['queue', 'list', '--limit', 'x'],
    ]) {
      const ran = await runCli(words);
      expect([words, ran.exit]).toEqual([words, 2]);
      expect(ran.stdout).toBe('');
    }
  });

  it('A9.5 says wrong usage as JSON on stdout too, where JSON was asked for', async () => {
    const ran = await runCli(['status', '--bad', '--json']);
    expect(ran.exit).toBe(2);
    expect(JSON.parse(ran.stdout)).toMatchObject({ ok: false, error: { code: 'invalid_input', who: 'caller' } });
    expect(ran.stderr).toContain('--bad');
  });

  it('ends with 0 for help, and names every group', async () => {
    const ran = await runCli(['--help']);
    expect(ran.exit).toBe(0);
    for (const group of ['up', 'demo', 'doctor', 'task', 'queue', 'worker', 'workflow', 'status'])
      expect(ran.stdout).toContain(group);
  });

  it('says in help of each argument what it is, what it may be and what holds without it', async () => {
    const words = async (...command: string[]) => (await runCli([...command, '--help'])).stdout.replaceAll(/\s+/g, ' ');
    const list = await words('approval', 'list');
    expect(list).toContain('--state <text> only those in this state (default: pending) (choices: "pending",');
    expect(list).toContain('--limit <number> entries of a page (default: 50)');
    expect(await words('workflow', 'draft-edit')).toContain('only there: operation (the one change)');
    expect(await words('quota', 'set')).toMatch(/ max leases at once; [^(]+ \(required, `none` for no value\)/);
  });

  it('ends with 7 and says how to start the farm when none was started or none answers', async () => {
    const never = await runCli(['status', '--json']);
    expect(never.exit).toBe(7);
    expect(JSON.parse(never.stdout).error.hint).toContain('npm start');
    farm = await anAnsweringFarm(() => undefined);
    const { credential } = farm;
    await farm.close();
    const gone = await runCli(['status'], { env: { LONGSHORE_CREDENTIAL: credential } });
    expect(gone.exit).toBe(7);
    expect(gone.stderr).toContain('npm start');
    expect(gone.stdout).toBe('');
  });

  it('A9.5 ends with 5 for an unconfirmed mutation, with the proposal on stdout as JSON and as text on stderr', async () => {
    const proposal = {
      summary: 'Requeue one job',
      count: 1,
      changes: [{ id: job, before: 'leased', after: 'queued' }],
    };
    const answer = (asked: Asked) =>
      JSON.parse(asked.body.toString()).confirm === true
        ? { json: { result: { job_id: job, state: 'queued' } } }
        : problem('confirmation_required', 409, { proposal });
    const asJson = await ask(['queue', 'requeue', job, '--json'], answer);
    expect(asJson.exit).toBe(5);
    expect(JSON.parse(asJson.stdout).error).toMatchObject({ code: 'confirmation_required', proposal });
    const env = { LONGSHORE_CREDENTIAL: farm?.credential ?? '' };
    const asText = await runCli(['queue', 'requeue', job], { env });
    expect([asText.exit, asText.stdout]).toEqual([5, '']);
    expect(asText.stderr).toContain('Requeue one job');
    const confirmed = await runCli(['queue', 'requeue', job, '--yes', '--json'], { env });
    expect([confirmed.exit, JSON.parse(confirmed.stdout)]).toEqual([0, { job_id: job, state: 'queued' }]);
  });

  it('A9.3 ends with 1 for a code that this version does not know, and passes it on', async () => {
    const ran = await ask(['status', '--json'], () => problem('zz', 418, { hint: 'Look up.' }));
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout).error).toMatchObject({ code: 'zz', hint: 'Look up.' });
  });

  it('sends the input as given, with the idempotency key, and finds --json behind a subcommand of a group with options', async () => {
    const ran = await ask(
      [
        'worker',
        'invite',
        '--slots',
        '3',
        '--labels',
        'gpu',
        '--labels',
        'os:linux',
        '--idempotency-key',
        'k1',
        '--json',
      ],
      () => ({ json: { result: { ticket: 't', expires_in_seconds: 600, command: 'c' } } }),
    );
    expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, { ticket: 't', expires_in_seconds: 600, command: 'c' }]);
    const sent = farm?.asked.find(({ path }) => path === '/v1/operations/worker_invite');
    expect(JSON.parse(sent?.body.toString() ?? '')).toEqual({ input: { slots: 3, labels: ['gpu', 'os:linux'] } });
    expect(sent?.headers['idempotency-key']).toBe('k1');
  });

  it('reads the whole input from stdin', async () => {
    farm = await anAnsweringFarm(() => ({ json: { result: { name: 'global', max: null } } }));
    const env = { LONGSHORE_CREDENTIAL: farm.credential };
    const ran = await runCli(['quota', 'set', '--input', '-', '--json'], {
      env,
      stdin: '{"name":"global","max":null}',
    });
    expect(ran.exit).toBe(0);
    expect(JSON.parse(farm.asked.at(-1)?.body.toString() ?? '').input).toEqual({ name: 'global', max: null });
  });

  it('H38 prints what workers and members say without what a terminal obeys, as text and as JSON', async () => {
    const workers = [
      {
        worker_id: 'w_00000000',
        name: '\u001b]0;owned\u0007north\u009b2J',
        pool: 'default',
        labels: [],
        host: null,
        slots: 1,
        slot_ceiling: 1,
        busy: 0,
        accounts: [],
        state: 'live',
        note: 'a\u202eb',
        seen_at: null,
      },
    ];
    const asText = await ask(['worker', 'list'], () => ({ json: { result: { workers } } }));
    expect([asText.exit, asText.stderr]).toEqual([0, '']);
    expect(asText.stdout).toContain('north');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the promise
    const obeyed = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/;
    expect(asText.stdout).not.toMatch(obeyed);
    const asJson = await runCli(['worker', 'list', '--json'], {
      env: { LONGSHORE_CREDENTIAL: farm?.credential ?? '' },
    });
    expect(asJson.stdout).not.toMatch(obeyed);
    expect(JSON.parse(asJson.stdout)).toEqual({ workers });
  });

  it('has colours on a terminal, and none with NO_COLOR or elsewhere', async () => {
    farm = await anAnsweringFarm(() => ({ json: { result: { workers: [] } } }));
    const env = { LONGSHORE_CREDENTIAL: farm.credential };
    const esc = '\u001b[';
    expect((await runCli(['worker', 'list'], { env, terminal: true })).stdout).toContain(esc);
    expect((await runCli(['worker', 'list'], { env: { ...env, NO_COLOR: '1' }, terminal: true })).stdout).not.toContain(
      esc,
    );
    expect((await runCli(['worker', 'list'], { env })).stdout).not.toContain(esc);
  });

  it('refuses a credential that others may read, and says the fix', async () => {
    farm = await anAnsweringFarm(() => undefined);
    chmodSync(farm.credential, 0o640);
    const ran = await runCli(['status', '--json'], { env: { LONGSHORE_CREDENTIAL: farm.credential } });
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout).error).toMatchObject({
      code: 'misconfigured',
      hint: `chmod 600 '${farm.credential}'`,
    });
    expect(farm.asked).toEqual([]);
  });

  it('takes a prompt once, and a source once', async () => {
    const start = ['task', 'start', '--workflow', 'solo'];
    farm = await anAnsweringFarm(() => undefined);
    const around = { env: { LONGSHORE_CREDENTIAL: farm.credential }, cwd: tempDir('nowhere') };
    expect(await runCli(start, around)).toMatchObject({ exit: 2, stderr: expect.stringContaining('no prompt') });
    expect(await runCli([...start, 'a', '--prompt-file', 'b'], around)).toMatchObject({ exit: 2 });
    expect(await runCli([...start, 'a', '--empty', '--source', '.'], around)).toMatchObject({ exit: 2 });
    const outside = await runCli([...start, 'a'], around);
    expect(outside).toMatchObject({ exit: 2, stderr: expect.stringContaining('--empty') });
    expect(await runCli([...start, '--prompt-file', join(around.cwd, 'missing')], around)).toMatchObject({ exit: 2 });
    expect(farm.asked).toEqual([]);
  });

  it('refuses to start on a port that is taken or a folder of another version, and names the way out', async () => {
    farm = await anAnsweringFarm(() => undefined);
    const data = join(tempDir('data'), 'farm');
    const taken = await runCli(['up', '--json', '--data', data, '--port', new URL(farm.url).port]);
    expect(taken.exit).toBe(1);
    expect(JSON.parse(taken.stdout).error).toMatchObject({
      code: 'port_taken',
      who: 'admin',
      hint: expect.any(String),
    });
    writeFileSync(join(data, 'version'), '99\n');
    const other = await runCli(['up', '--json', '--data', data, '--port', '0']);
    expect(other.exit).toBe(1);
    expect(JSON.parse(other.stdout).error).toMatchObject({
      code: 'data_version',
      hint: expect.stringContaining('--data'),
    });
  });
});
