import { constants } from 'node:fs';
import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxLimits } from './rules.js';

/** A cgroup (v2) that was given to this process to divide. */
export class ControlGroups {
  private constructor(
    readonly path: string,
    private readonly controllers: ReadonlySet<string>,
  ) {}

  /**
   * The worker's own cgroup, when it may divide it and it has the controllers of processes and memory; undefined otherwise. The
   * worker moves itself into a leaf: only a group without processes can pass its controllers on.
   */
  static async find(
    root = '/sys/fs/cgroup',
    self = '/proc/self/cgroup',
    pid = process.pid,
  ): Promise<ControlGroups | undefined> {
    try {
      const own = /^0::(\/.*)$/m.exec(await readFile(self, 'utf8'))?.[1];
      if (own === undefined) return undefined;
      const path = join(root, own);
      const offered = (await readFile(join(path, 'cgroup.controllers'), 'utf8')).trim().split(/\s+/);
      const wanted = ['pids', 'memory', 'cpu'].filter((name) => offered.includes(name));
      if (!wanted.includes('pids') || !wanted.includes('memory')) return undefined;
      await access(join(path, 'cgroup.subtree_control'), constants.W_OK);
      await mkdir(join(path, 'worker'), { recursive: true });
      await writeFile(join(path, 'worker', 'cgroup.procs'), String(pid));
      await writeFile(join(path, 'cgroup.subtree_control'), wanted.map((name) => `+${name}`).join(' '));
      return new ControlGroups(path, new Set(wanted));
    } catch {
      // not ours to divide
      return undefined;
    }
  }

  /** A group with limits; a process is put into it by its number in `cgroup.procs`. */
  async make(name: string, { pids, memoryBytes, cpus }: SandboxLimits): Promise<ControlGroup> {
    const path = join(this.path, name);
    await mkdir(path);
    await writeFile(join(path, 'pids.max'), String(pids));
    await writeFile(join(path, 'memory.max'), String(memoryBytes));
    await writeFile(join(path, 'memory.swap.max'), '0').catch(() => undefined);
    const period = 100_000;
    if (this.controllers.has('cpu')) await writeFile(join(path, 'cpu.max'), `${Math.ceil(cpus * period)} ${period}`);
    return new ControlGroup(path);
  }
}

export class ControlGroup {
  constructor(private readonly path: string) {}

  /** Starts the rest of the arguments inside the group. */
  get entry(): readonly string[] {
    return ['sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', this.path];
  }

  /** Ends what is left in it, and the group. */
  async remove(): Promise<void> {
    await writeFile(join(this.path, 'cgroup.kill'), '1').catch(() => undefined);
    for (let tries = 0; tries < 50; tries += 1) {
      try {
        return await rmdir(this.path);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}
