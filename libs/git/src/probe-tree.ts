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

  /** Reads what is known. */
  async warm(): Promise<void> {
    this.isReady = hasPassed(await this.loop.runAll([this.reading]));
  }

  /** What tells it of a tree: `hasPassed` says whether it could be checked out. */
  async commands(tree: Oid): Promise<readonly LoopCommand[]> {
    const place = `probe-${tree}`;
    await mkdir(join(this.folder, place), { recursive: true });
    const first = this.isReady ? [] : [this.reading];
    this.isReady = false;
    return [...first, { args: [`--work-tree=${place}`, 'read-tree', '-m', '-u', this.known, tree] }];
  }

  private get reading(): LoopCommand {
    return { args: ['read-tree', this.known] };
  }
}

export function hasPassed(answers: readonly LoopAnswer[]): boolean {
  return answers.every(({ exitCode }) => exitCode === 0);
}
