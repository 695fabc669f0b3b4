import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { ControlGroup, ControlGroups } from './control-group.js';

/** Files as the kernel shows them: what is written, and where, is what counts here. */
function aHierarchy(controllers: string) {
  const root = tempDir('cgroup');
  const own = join(root, 'user.slice', 'worker.service');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'cgroup.controllers'), `${controllers}\n`);
  writeFileSync(join(own, 'cgroup.subtree_control'), '');
  const self = join(root, 'self');
  writeFileSync(self, '0::/user.slice/worker.service\n');
  const read = (...path: readonly string[]) => readFileSync(join(own, ...path), 'utf8');
  return { own, read, find: () => ControlGroups.find(root, self, 4711) };
}

describe('a cgroup that was given to the worker', () => {
  it('is divided: the worker moves into a leaf, and each tree has a group with its limits', async () => {
    const { own, read, find } = aHierarchy('cpuset cpu io memory pids');
    const groups = await find();
    expect(read('worker', 'cgroup.procs')).toBe('4711');
    expect(read('cgroup.subtree_control')).toBe('+pids +memory +cpu');
    const group = await groups?.make('run-1', { pids: 64, memoryBytes: 1024, cpus: 1.5 });
    const files = ['pids.max', 'memory.max', 'memory.swap.max', 'cpu.max'];
    expect(files.map((file) => read('run-1', file))).toEqual(['64', '1024', '0', '150000 100000']);
    expect(group?.entry.at(-1)).toBe(join(own, 'run-1'));
  });

  it('is not used where processes or memory cannot be limited by it', async () => {
    const { read, find } = aHierarchy('cpu io');
    expect(await find()).toBeUndefined();
    expect(read('cgroup.subtree_control')).toBe('');
    expect(await ControlGroups.find('/no/such', '/no/such/self')).toBeUndefined();
  });
});

const mebibyte = 1024 ** 2;

/** A group of our own in this machine's hierarchy of version 2, where we may make one; with the controllers that it offers. */
function aRealGroup() {
  const mounted = /^cgroup2? (\S+) cgroup2 /m.exec(readFileSync('/proc/self/mounts', 'utf8'))?.[1];
  const own = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
  if (mounted === undefined || own === undefined) return { missing: 'this machine has cgroup v1 alone' } as const;
  const name = join(own, `longshore-test-${process.pid}`);
  try {
    mkdirSync(join(mounted, name));
  } catch {
    return { missing: 'no cgroup is ours to divide' } as const;
  }
  const path = join(mounted, name);
  const offered = readFileSync(join(path, 'cgroup.controllers'), 'utf8').trim().split(/\s+/);
  const limits = ['pids', 'memory'].every((controller) => offered.includes(controller));
  return { mounted, name, path, limits };
}

const real = aRealGroup();
afterAll(() => {
  if (real.missing === undefined)
    for (const name of ['worker', '']) if (existsSync(join(real.path, name))) rmdirSync(join(real.path, name));
});

describe('a cgroup of this machine', () => {
  const itWithGroup = real.missing === undefined ? it : it.skip;
  const itWithLimits = real.missing === undefined && real.limits ? it : it.skip;
  const because = real.missing === undefined ? '' : ` (not tried: ${real.missing})`;
  const whyNoLimits =
    real.missing === undefined && !real.limits
      ? ' (not tried: pids and memory are in cgroup v1 here, which no worker uses; see E7 and E8 for its rlimits)'
      : because;

  itWithGroup(`takes in what is started there, and ends with all of it${because}`, async () => {
    if (real.missing !== undefined) return;
    const path = join(real.path, 'run-1');
    mkdirSync(path);
    const group = new ControlGroup(path);
    const [file = '', ...args] = [...group.entry, 'sh', '-c', 'setsid sleep 300 & echo $!; wait'];
    const started = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [said] = await once(started.stdout, 'data');
    const inside = readFileSync(join(path, 'cgroup.procs'), 'utf8').trim().split('\n');
    expect(inside).toEqual(expect.arrayContaining([String(started.pid), String(said).trim()]));
    const ended = once(started, 'exit');
    await group.remove();
    expect((await ended)[1]).toBe('SIGKILL');
    expect(existsSync(path)).toBe(false);
  });

  itWithLimits(`E7 E8 holds processes and memory at its limits${whyNoLimits}`, async () => {
    if (real.missing !== undefined) return;
    const self = join(tempDir('cgroup'), 'self');
    writeFileSync(self, `0::${real.name}\n`);
    const worker = spawn('sleep', ['300']);
    try {
      const groups = await ControlGroups.find(real.mounted, self, worker.pid);
      const ranIn = async (name: string, pids: number, ...words: string[]): Promise<string> => {
        const group = await groups?.make(name, { pids, memoryBytes: 200 * mebibyte, cpus: 1 });
        const [file = '', ...args] = [...(group?.entry ?? []), ...words];
        const { stdout } = spawnSync(file, args, { encoding: 'utf8' });
        await group?.remove();
        return stdout;
      };
      const forks = (count: number) =>
        `i=0; while [ $i -lt ${count} ]; do sleep 60 >/dev/null 2>&1 & i=$((i+1)); done; echo all`;
      expect(await ranIn('few', 20, 'sh', '-c', forks(10))).toContain('all');
      expect(await ranIn('many', 20, 'sh', '-c', forks(40))).not.toContain('all');
      const fill = (bytes: number) => ['-e', `Buffer.alloc(${bytes}, 1); console.log('held')`];
      expect(await ranIn('small', 64, process.execPath, ...fill(mebibyte))).toContain('held');
      expect(await ranIn('large', 64, process.execPath, ...fill(400 * mebibyte))).not.toContain('held');
    } finally {
      const gone = once(worker, 'exit');
      worker.kill('SIGKILL');
      await gone;
    }
  });
});
