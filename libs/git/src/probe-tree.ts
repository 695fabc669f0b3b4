import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitLoop, LoopAnswer, LoopCommand } from './git-loop.js';
import type { Oid } from './oid.js';

/**
 * Whether anybody could check a tree out: reads the whole of it as an index, which refuses `.git` and the like anywhere in it, and
 * writes what differs from `known`: only that can be new, and only that costs time.
 */
export class TreeProbe {
  private isReady = false;
  private probes = 0;

  /** @param loop its GIT_INDEX_FILE is written */
  constructor(
    private readonly loop: GitLoop,
    private readonly folder: string,
    private readonly known: Oid,
  ) {}

  /** Makes what each probe begins with: an index of what is known, and an empty folder. */
  async warm(): Promise<void> {
    if (this.isReady) return;
    this.probes += 1;
    await mkdir(join(this.folder, this.place));
    this.isReady = hasPassed(await this.loop.run({ args: ['read-tree', this.known] }));
  }

  /** The next to run: `hasPassed` says whether the tree could be checked out. */
  async command(tree: Oid): Promise<LoopCommand> {
    await this.warm();
    this.isReady = false;
    return { args: [`--work-tree=${this.place}`, 'read-tree', '-m', '-u', this.known, tree] };
  }

  private get place(): string {
    return `probe-${this.probes}`;
  }
}

export function hasPassed({ exitCode }: LoopAnswer): boolean {
  return exitCode === 0;
}
