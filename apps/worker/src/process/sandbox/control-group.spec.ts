import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { ControlGroups } from './control-group.js';

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
