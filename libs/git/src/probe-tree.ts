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

  /** @param loop its GIT_INDEX_FILE is written */
  constructor(
    private readonly loop: GitLoop,
    private readonly folder: string,
    private readonly known: Oid,
  ) {}

  /** Reads what is known: the index of each probe begins with it. */
  async warm(): Promise<void> {
    if (!this.isReady) this.isReady = hasPassed(await this.loop.run({ args: ['read-tree', this.known] }));
  }

  /** The next to run: `hasPassed` says whether the tree could be checked out. */
  async command(tree: Oid): Promise<LoopCommand> {
    await this.warm();
    this.isReady = false;
    const place = `probe-${tree}`;
    await mkdir(join(this.folder, place), { recursive: true });
    return { args: [`--work-tree=${place}`, 'read-tree', '-m', '-u', this.known, tree] };
  }
}

export function hasPassed({ exitCode }: LoopAnswer): boolean {
  return exitCode === 0;
}
