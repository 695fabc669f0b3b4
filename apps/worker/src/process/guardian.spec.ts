import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newId } from '#contracts';
import { buildOnce } from '../../../../test/support/build.js';
import type { GuardedTree } from './guarded-tree.js';
import { startGuarded } from './guardian.js';
import { instantOf, type LeaseTime, machineClock } from './monotonic.js';
import { markerEnvironment, type TreeMarker } from './tree-marker.js';
import { endTree, findTrees } from './tree-sweep.js';

/** Each test starts several processes; on a busy machine that takes its time. */
jest.setTimeout(30_000);

let folder: string;
const started: TreeMarker[] = [];

beforeAll(async () => {
  await buildOnce();
  folder = await mkdtemp(join(tmpdir(), 'longshore-guardian-'));
});
afterEach(async () => {
  for (const marker of started.splice(0)) await endTree(marker, 0);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a guarded tree', () => {
  it('P4 gives TERM and the grace to clean up, and reports the end', async () => {
    const tree = await guarded(`trap 'echo cleaned; exit 7' TERM; echo ready; ${forever}`);
    const said = linesOf(tree.stdout);
    await said.next('ready');

    const end = await tree.stop({ graceMs: 600_000 });

    expect(end).toEqual({ empty: true });
    await said.next('cleaned');
    await expect(tree.exited).resolves.toEqual({ code: 7, signal: null });
    expect(tree.state).toBe('gone');
    expect(await markedPids(tree.marker)).toEqual([]);
  });

  it('P4 W15 kills what ignores TERM, left the session and was orphaned, and nothing writes afterwards', async () => {
    const log = join(folder, newId());
    const stubborn = `trap 'echo term >> ${log}' TERM; echo stubborn $$; while :; do echo alive >> ${log}; sleep 0.02; done`;
    await writeFile(join(folder, 'stubborn.sh'), stubborn);
    // The middle shell ends at once, so that the stubborn one is nobody's child, in a session of its own.
    const tree = await guarded(`trap : TERM; sh -c "setsid sh ${folder}/stubborn.sh &"; ${forever}`);
    const said = linesOf(tree.stdout);
    const pid = Number((await said.next(/^stubborn/)).split(' ')[1]);
    expect(await parentOf(pid)).not.toBe(tree.pid);

    await expect(tree.stop({ graceMs: 200 })).resolves.toEqual({ empty: true });

    expect(await markedPids(tree.marker)).toEqual([]);
    expect(await stateOf(pid)).toBe('gone');
    const after = await readFile(log, 'utf8');
    expect(after).toContain('term');
    await pause(100);
    expect(await readFile(log, 'utf8')).toBe(after);
  });

  it('finds a child that threw its environment away and left the session', async () => {
    const tree = await guarded(`env -i setsid sh -c 'echo bare $$; ${forever}' & ${forever}`);
    const pid = Number((await linesOf(tree.stdout).next(/^bare/)).split(' ')[1]);
    expect(await markedPids(tree.marker)).not.toContain(pid);

    await tree.stop({ graceMs: 0 });

    expect(await stateOf(pid)).toBe('gone');
  });

  it('finds an orphan without a marker by the session that it stayed in', async () => {
    const tree = await guarded(`sh -c 'env -i sh -c "echo bare \\$\\$; ${forever}" &'; echo orphaned; ${forever}`);
    const said = linesOf(tree.stdout);
    const pid = Number((await said.next(/^bare/)).split(' ')[1]);
    await said.next('orphaned');
    expect(await parentOf(pid)).not.toBe(tree.pid);
    expect(await markedPids(tree.marker)).not.toContain(pid);

    await tree.stop({ graceMs: 0 });

    expect(await stateOf(pid)).toBe('gone');
  });

  it('remembers a process that hid after it was seen: no marker, no session, no parent', async () => {
    const go = join(folder, newId());
    const tree = await guarded(
      `sh -c 'env -i setsid sh -c "echo bare \\$\\$; ${forever}" & until [ -e ${go} ]; do sleep 0.02; done'; echo orphaned; ${forever}`,
    );
    const said = linesOf(tree.stdout);
    const pid = Number((await said.next(/^bare/)).split(' ')[1]);
    tree.renew(leaseOf(60_000));
    await tree.freeze();
    await expect(tree.thaw(leaseOf(60_000))).resolves.toBe('running');
    await writeFile(go, '');
    await said.next('orphaned');

    await tree.stop({ graceMs: 0 });

    expect(await stateOf(pid)).toBe('gone');
  });

  it('kills a frozen tree without letting it run again', async () => {
    const tree = await guarded(`trap 'echo resumed' CONT; trap 'echo term' TERM; echo ready; ${forever}`);
    const said = linesOf(tree.stdout);
    await said.next('ready');
    await tree.freeze();
    expect(tree.state).toBe('frozen');

    await expect(tree.stop({ graceMs: 0 })).resolves.toEqual({ empty: true });

    await said.end;
    expect(said.all).toEqual(['ready']);
  });

  it('shortens the grace when it is told to stop again', async () => {
    const tree = await guarded(`trap 'echo term' TERM; echo ready; ${forever}`);
    const said = linesOf(tree.stdout);
    await said.next('ready');
    const gentle = tree.stop({ graceMs: 600_000 });
    await said.next('term');

    await expect(tree.stop({ graceMs: 0 })).resolves.toEqual({ empty: true });
    await expect(gentle).resolves.toEqual({ empty: true });
  });

  it('resolves a stop though nobody reads what the tree wrote', async () => {
    const tree = await guarded(`yes`);
    await expect(tree.stop({ graceMs: 0 })).resolves.toEqual({ empty: true });
  });

  it('ends the tree from the worker when the guardian was killed', async () => {
    const tree = await guarded(forever);
    process.kill(tree.guardianPid, 'SIGKILL');

    await tree.exited;
    await expect(tree.stop()).resolves.toEqual({ empty: true });
    expect(tree.state).toBe('gone');
    expect(await markedPids(tree.marker)).toEqual([]);
    await expect(tree.thaw(leaseOf(60_000))).resolves.toBe('frozen');
  });

  it('starts nothing under a lease that is over, and names a program that is not there', async () => {
    const marked = markerFor();
    const late = { sentAt: { ...instantOf(machineClock), mono: machineClock.now() - 1_001 }, leaseMs: 1_000 };
    await expect(startGuarded({ command: shell('echo no'), marker: marked, lease: late })).rejects.toMatchObject({
      code: 'stale_lease',
    });
    await expect(
      startGuarded({ command: { ...shell(''), file: '/no/such/program' }, marker: marked, lease: leaseOf(60_000) }),
    ).rejects.toMatchObject({ code: 'misconfigured', detail: expect.stringContaining('ENOENT') });
    expect(await markedPids(marked)).toEqual([]);
  });
});

describe('a worker that is stopped or killed', () => {
  it('kill -9 of the worker leaves no process of the tree, not even one that ignores TERM', async () => {
    const worker = await standIn({
      leaseMs: 600_000,
      graceMs: 100,
      script: `trap '' TERM; setsid sh -c '${forever}' & ${forever}`,
    });
    await until(async () => (await markedPids(worker.marker)).length >= 2);
    const guardian = worker.guardianPid;

    worker.process.kill('SIGKILL');

    await until(async () => (await stateOf(guardian)) === 'gone');
    expect(await markedPids(worker.marker)).toEqual([]);
  });

  it('kill -9 of the worker gives its tree no longer grace than the lease', async () => {
    const worker = await standIn({ leaseMs: 1_000, graceMs: 600_000, script: `trap '' TERM; ${forever}` });
    worker.process.kill('SIGKILL');
    await until(async () => (await stateOf(worker.guardianPid)) === 'gone');
    expect(await markedPids(worker.marker)).toEqual([]);
  });

  it('kill -9 of the worker does not let a frozen tree run again', async () => {
    const log = join(folder, newId());
    const worker = await standIn({
      leaseMs: 300,
      graceMs: 600_000,
      script: `trap 'echo resumed >> ${log}' CONT; trap 'echo term >> ${log}' TERM; echo ready > ${log}; ${forever}`,
    });
    await until(async () => allStopped(worker.marker));

    worker.process.kill('SIGKILL');

    await until(async () => (await stateOf(worker.guardianPid)) === 'gone');
    expect(await markedPids(worker.marker)).toEqual([]);
    expect(await readFile(log, 'utf8')).toBe('ready\n');
  });

  it('D18 the tree of a stopped worker is frozen at its lease end, and thaw lets the same processes go on', async () => {
    const worker = await standIn({ leaseMs: 500, graceMs: 100, script: `while :; do echo tick; sleep 0.02; done` });
    worker.process.kill('SIGSTOP');
    await until(async () => (await stateOf(worker.process.pid ?? 0)) === 'stopped');
    const before = await markedPids(worker.marker);

    await until(async () => allStopped(worker.marker));
    expect(await stateOf(worker.guardianPid)).toBe('alive');

    worker.process.kill('SIGCONT');
    await worker.said.next('frozen lease_end');
    worker.process.stdin?.write('thaw\n');
    await worker.said.next('thawed running');
    const seen = worker.said.all.length;
    await until(async () => worker.said.all.slice(seen).includes('tick'));
    expect(await markedPids(worker.marker)).toContain(before[0]);

    worker.process.stdin?.write('stop\n');
    await worker.said.next('stopped true');
    expect(await markedPids(worker.marker)).toEqual([]);
  });
});

describe('the sweep at a start', () => {
  it('finds and ends what a dead worker left, and nothing of another worker on the same machine', async () => {
    const mine = markerFor();
    const other = markerFor();
    const left = [mine, other].map((marker) => {
      const child = spawn('/bin/sh', ['-c', `trap '' TERM; ${forever}`], {
        env: environmentOf(marker),
        detached: true,
        stdio: 'ignore',
      });
      started.push(marker);
      return child.pid ?? 0;
    });
    await until(async () => (await markedPids(mine)).length > 0 && (await markedPids(other)).length > 0);

    expect(findTrees(mine.worker)).toEqual([mine]);
    await expect(endTree(mine, 50)).resolves.toEqual({ empty: true });

    expect(findTrees(mine.worker)).toEqual([]);
    expect(await stateOf(left[0] ?? 0)).toBe('gone');
    expect(await stateOf(left[1] ?? 0)).toBe('alive');
  });
});

const forever = 'while :; do sleep 0.05; done';

function markerFor(): TreeMarker {
  const marker = { worker: `w_${newId()}`, job: newId(), epoch: 3 };
  return marker;
}

function leaseOf(leaseMs: number): LeaseTime {
  return { sentAt: instantOf(machineClock), leaseMs };
}

function environmentOf(marker: TreeMarker): Record<string, string> {
  return { PATH: process.env.PATH ?? '', ...markerEnvironment(marker) };
}

function shell(script: string) {
  return { file: '/bin/sh', args: ['-c', script], cwd: folder, environment: { PATH: process.env.PATH ?? '' } };
}

function guarded(script: string): Promise<GuardedTree> {
  const marker = markerFor();
  started.push(marker);
  return startGuarded({ command: shell(script), marker, lease: leaseOf(600_000) });
}

interface StandIn {
  readonly process: ChildProcess;
  readonly guardianPid: number;
  readonly marker: TreeMarker;
  readonly said: Lines;
}

/** A process that does with its guardian what a worker does, so that it can be stopped and killed. */
async function standIn(given: { leaseMs: number; graceMs: number; script: string }): Promise<StandIn> {
  const marker = markerFor();
  started.push(marker);
  const dist = (file: string) => pathToFileURL(join(process.cwd(), 'dist/apps/worker/src/process', file)).href;
  const program = join(folder, `${newId()}.mjs`);
  await writeFile(
    program,
    `import { createInterface } from 'node:readline';
     import { startGuarded } from '${dist('guardian.js')}';
     import { instantOf, machineClock } from '${dist('monotonic.js')}';
     const lease = (leaseMs) => ({ sentAt: instantOf(machineClock), leaseMs });
     const tree = await startGuarded({ command: ${JSON.stringify(shell(given.script))}, marker: ${JSON.stringify(marker)},
       lease: lease(${given.leaseMs}), graceMs: ${given.graceMs} });
     tree.onState((state, cause) => console.log(state, cause ?? ''));
     createInterface({ input: tree.stdout }).on('line', (line) => console.log(line));
     createInterface({ input: process.stdin }).on('line', async (order) => {
       if (order === 'thaw') console.log('thawed', await tree.thaw(lease(600000)));
       if (order === 'stop') { console.log('stopped', (await tree.stop()).empty); process.exit(0); }
     });
     console.log('guardian', tree.guardianPid);`,
  );
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const said = linesOf(child.stdout);
  const guardianPid = Number((await said.next(/^guardian/)).split(' ')[1]);
  return { process: child, guardianPid, marker, said };
}

interface Lines {
  readonly all: string[];
  readonly end: Promise<unknown>;
  next(line: string | RegExp): Promise<string>;
}

/** Every line that a stream brings; `next` waits for one that matches, also among those that came already. */
function linesOf(stream: Readable): Lines {
  const all: string[] = [];
  const reader = createInterface({ input: stream });
  const end = once(reader, 'close');
  reader.on('line', (line) => all.push(line.trimEnd()));
  const matching = (wanted: string | RegExp) =>
    all.find((line) => (typeof wanted === 'string' ? line === wanted : wanted.test(line)));
  return {
    all,
    end,
    async next(wanted) {
      for (;;) {
        const found = matching(wanted);
        if (found !== undefined) return found;
        const more = await Promise.race([once(reader, 'line').then(() => true), end.then(() => false)]);
        if (!more && matching(wanted) === undefined)
          throw new Error(`The stream ended before ${String(wanted)}: ${all.join(' | ')}`);
      }
    },
  };
}

/** The kernel tells nobody when another's child stops or ends, so it is asked; at most 20 s. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < 1_000; look += 1) {
    if (await holds()) return;
    await pause(20);
  }
  throw new Error('It never came to hold.');
}

async function allStopped(marker: TreeMarker): Promise<boolean> {
  const states = await Promise.all((await markedPids(marker)).map(stateOf));
  return states.length > 0 && states.every((state) => state === 'stopped');
}

/** Read here from /proc, apart from the code under test. */
async function markedPids(marker: TreeMarker): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const marked = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      return environment.includes(`LONGSHORE_JOB=${marker.job}:${marker.epoch}\0`) && (await stateOf(pid)) !== 'gone';
    }),
  );
  return pids.filter((_, index) => marked[index]);
}

async function stateOf(pid: number): Promise<'alive' | 'stopped' | 'gone'> {
  const fields = await statOf(pid);
  if (fields === undefined || fields[0] === 'Z' || fields[0] === 'X') return 'gone';
  return fields[0] === 'T' ? 'stopped' : 'alive';
}

async function parentOf(pid: number): Promise<number> {
  return Number((await statOf(pid))?.[1]);
}

async function statOf(pid: number): Promise<string[] | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}
