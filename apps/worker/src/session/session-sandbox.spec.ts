import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { aSandbox } from '../../../../test/support/a-sandbox.js';
import { aWorker, type EventsSaid } from '../../../../test/support/a-worker.js';
import { oneWorker } from '../../../../test/support/one-worker.js';
import { StandInController } from '../../../../test/support/stand-in-controller.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { memberDoorPort } from '../process/sandbox/index.js';
import { egressHosts } from './egress-hosts.js';

const green = '- call: {operation: checkpoint, input: {outcome: green, summary: Done}}';
const script = (...steps: readonly string[]): string => `steps:\n${steps.map((step) => `  ${step}\n`).join('')}`;
const run = (command: string | readonly string[]) => `- run: ${JSON.stringify(command)}`;
const walled = { LONGSHORE_SANDBOX: 'bwrap' };
const shared = oneWorker({ ...walled, LONGSHORE_SESSION_DISK_MB: '40' });

/** What the shells of a session said. */
const shellsOf = (said: EventsSaid) =>
  said
    .events('step')
    .filter(({ step, name }) => step === 'tool_result' && name === 'run')
    .map(({ text }) => String(text));

/** Knocks at the member door with no token, as a script of a package would. */
const knock = `fetch('http://127.0.0.1:${memberDoorPort}/_internal/node/mcp', { method: 'POST', body: '{}' }).then((answer) => console.log('door', answer.status), () => console.log('no door'))`;

const nothing = {
  name: 'app',
  project: 'default',
  origin: 'https://git.example.test/team/app',
  setup: null,
  verify: null,
  egress: [],
  environment: {},
  secrets: {},
};

describe('a session behind walls', () => {
  it('H34 reaches its member door in a network namespace of its own, and what runs beside it has no token', async () => {
    const { farm, worker } = await shared();
    const look = `cat /proc/*/environ | tr '\\0' '\\n' | grep -i -e token -e bearer; ls ${'$'}(dirname "$PWD")/state`;
    const job = farm.add(
      script(run([process.execPath, '-e', knock]), run(look), '- say: here', '- wait: {file: go}', green),
    );
    const session = worker.of(job);
    await session.until('step', ({ text }) => text === 'here');

    // a sibling has a network of its own, and nothing listens on the machine
    const sibling = await aSandbox('bwrap', { memberDoor: true });
    const outside = await aSandbox('none');
    for (const box of [sibling, outside]) expect((await box.node(knock)).stdout).toContain('no door');
    const { path } = session.events('workspace')[0] ?? {};
    const socket = join(String(path), '..', 'sandbox', 'sockets', 'member-door.sock');
    expect((await sibling.run('ls', socket)).code).not.toBe(0);
    for (const box of [sibling, outside]) await box.close();

    writeFileSync(join(String(path), 'go'), '');
    await session.until('completed');
    expect(job.completed).toMatchObject({ ended: 'handover' });
    const [door, seen] = shellsOf(session);
    expect(door).toContain('door 401');
    expect(seen).not.toMatch(/token|bearer|member-door-/i);
  });

  it('H28 reads neither the folder of the worker, nor its environment, nor the workspace of a sibling', async () => {
    const farm = await StandInController.open();
    const home = tempDir('worker');
    const sibling = join(home, 'workspaces', 'other-1', 'work');
    mkdirSync(sibling, { recursive: true, mode: 0o700 });
    writeFileSync(join(sibling, 'plan.md'), 'the plan of another');
    const look = `cat ${home}/identity.json ${home}/worker.lock ${sibling}/plan.md; ls ${home}/cache; cat /proc/*/environ | tr '\\0' '\\n' | grep CANARY; ps ax 2>/dev/null | grep -c main.js; echo looked`;
    farm.add(script(run(look), run('touch a.txt; echo x > ../owner.json'), green));
    // the owner shows the worker's own folder to sessions by mistake
    const worker = await aWorker(farm, {
      home,
      env: { ...walled, LONGSHORE_SANDBOX_READABLE: home, CANARY: 'of-the-environment' },
    });
    await worker.until('completed');
    const [read, wrote] = shellsOf(worker);
    expect(read).toContain('looked');
    expect(read).not.toMatch(/private|the plan of another|bundles|of-the-environment/);
    expect(wrote).toContain('owner.json');
    expect(wrote).toMatch(/Read-only|nonexistent|Permission/i);
  });

  it('is ended when it fills the disk, wherever it writes, with the limit and the way out told and its work handed in', async () => {
    const { farm, worker } = await shared();
    const fill = 'echo work > a.txt; head -c 60000000 /dev/zero > /tmp/heap; sync; sleep 300';
    const job = farm.add(script(run(fill), green));
    await worker.of(job).until('completed');
    expect(job.completed).toMatchObject({ ended: 'crashed', result: { commit: expect.any(String) } });
    const { detail } = z.object({ detail: z.string() }).parse(job.completed?.result);
    expect(detail).toMatch(/40 MB .*session_mb/);
  });

  it('H28 refuses a real agent where there are no walls, and says at every start when its owner allows it', async () => {
    const farm = await StandInController.open();
    const job = farm.add(script(green), await farm.base(), 'claude');
    const worker = await aWorker(farm, { env: { LONGSHORE_SANDBOX: 'process' } });
    await worker.until('failed');
    expect(job.failed).toMatchObject({ reason: 'environment', retryable: true });
    expect(job.failed?.detail).toContain('bwrap');
    expect(worker.events('workspace')).toEqual([]);
    expect(worker.process.stderr()).not.toContain('UNSAFE');
    worker.process.signal('SIGTERM');
    await worker.process.ended;
    const unsafe = { LONGSHORE_SANDBOX: 'process', LONGSHORE_UNSAFE: '1' };
    for (const boot of [1, 2]) {
      const again = await aWorker(farm, { home: worker.home, env: unsafe });
      expect([boot, again.process.stderr()]).toEqual([boot, expect.stringContaining('WITHOUT WALLS')]);
      again.process.signal('SIGTERM');
      await again.process.ended;
    }
  });

  it('H32 H35 has the setup, environment and secrets of its repository inside only, and no word of a secret gets out', async () => {
    const { farm, worker } = await shared();
    farm.repository = {
      ...nothing,
      setup: 'test "$MODE $DEPLOY_KEY" = "test deploy-key-canary"',
      environment: { MODE: 'test', LD_PRELOAD: '/no/such.so' },
      secrets: { DEPLOY_KEY: 'deploy-key-canary' },
    };
    const look = 'echo "$MODE"; echo "key $DEPLOY_KEY" | rev | rev; echo "$DEPLOY_KEY" | wc -c';
    const job = farm.add(script(run(look), '- say: "echo deploy-key-canary"', green));
    const session = worker.of(job);
    await session.until('completed');
    const [said] = shellsOf(session);
    expect(said).toMatch(/^test\nkey \*\*\*\n *18\n/);
    expect(job.completed?.result).toMatchObject({ isolation: { setup: 'done' } });
    const kept = [...job.output.values()].join('') + JSON.stringify(worker.events()) + worker.process.stderr();
    expect(kept).toContain('echo ***');
    expect(kept).not.toContain('canary');
  });

  it.each([
    ['that began', false],
    ['that was refused', true],
  ])('H35 tells why a session failed %s without a secret, and what it said on its stderr', async (_, refused) => {
    const { farm, worker } = await shared();
    // as of a file: with a line end
    farm.repository = { ...nothing, secrets: { DEPLOY_KEY: 'deploy-key-canary\n' } };
    const fail = `- fail: {class: crash, detail: "it ended with deploy-key-canary", refuse_start: ${refused}}`;
    const job = farm.add(script(...(refused ? [] : [run('echo "$DEPLOY_KEY" >&2')]), fail));
    await worker.of(job).until(refused ? 'failed' : 'completed');
    const told = JSON.stringify([job.completed, job.failed, farm.heard, worker.events(), [...job.output.values()]]);
    expect(refused ? job.failed?.detail : job.completed?.result.detail).toContain('it ended with ***');
    expect(told + worker.process.stderr()).not.toContain('canary');
  });

  it('reaches what its workflow and its repository let it, and nothing where the network is denied', () => {
    const listed = { egress: ['registry.example.test'] };
    const hosts = (network: 'deny' | 'allow' | undefined, egress?: typeof listed) => {
      const sandbox = network === undefined ? undefined : ({ mode: 'workspace_write', network } as const);
      const settings = egress === undefined ? null : { ...nothing, ...egress };
      return egressHosts({ sandbox }, settings);
    };
    expect([hosts('deny', listed), hosts('deny'), hosts(undefined)]).toEqual([[], [], []]);
    expect([hosts(undefined, listed), hosts('allow', listed)]).toEqual([listed.egress, listed.egress]);
    expect(hosts('allow')).toEqual(['*']);
  });

  it('P4 ends a cancelled session gently: what runs inside hears TERM before it is killed', async () => {
    const { farm, worker } = await shared();
    // a tree that is frozen at its lease's end is killed and does not run again
    farm.leaseMs = 15_000;
    const job = farm.add(
      script(
        run('(trap "echo heard > heard.txt; exit" TERM; echo ready > ready; while :; do sleep 0.1; done) & sleep 1'),
        '- say: here',
        '- hang',
      ),
    );
    const session = worker.of(job);
    await session.until('step', ({ text }) => text === 'here');
    job.end = { kind: 'cancel', reason: 'by a person' };
    await session.until('completed');
    expect(session.events('captured')).toMatchObject([{ files: 2 }]);
  });
});
