import { join } from 'node:path';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { agent, aRound, type Round, when } from '../../../test/support/git-round.js';
import { type Content, filesAt, plainGit, writeFiles } from '../../../test/support/repositories.js';
import { intakePack } from './intake-pack.js';
import { type Merge, mergeInto } from './merge-into.js';

jest.setTimeout(60_000);

const lines = (changed: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: 20 }, (_, at) => `${changed[at] ?? `line ${at}`}\n`).join('');

let round: Round;
beforeEach(async () => {
  round = await aRound({ 'shared.txt': lines(), 'same.txt': 'a\na\na\n' });
});

async function accepted(files: Readonly<Record<string, Content>>, base = round.base): Promise<string> {
  const workspace = await round.workspace(base);
  writeFiles(workspace.dir, files);
  const pack = await workspace.pack();
  await intakePack(round.store, { pack: pack.path, base, commit: pack.commit });
  return pack.commit;
}

const branch = (theirs: string) => ({ theirs, base: round.base, message: 'Merge member', author: agent, when });
const mergeAll = (ours: string, ...theirs: readonly string[]) =>
  mergeInto(round.store, { ours, branches: theirs.map(branch) });

async function merge(ours: string, theirs: string): Promise<Merge> {
  const { merges } = await mergeAll(ours, theirs);
  return merges[0] ?? { outcome: 'error', reason: 'nothing was said' };
}

function commitOf(merged: Merge): string {
  if (merged.outcome !== 'merged') throw new Error(`not merged: ${merged.outcome}`);
  return merged.commit;
}

describe('a merge', () => {
  it('W6 takes siblings that edit different lines; one that edits the same line conflicts and blocks nobody', async () => {
    const first = await accepted({ 'shared.txt': lines({ 1: 'first' }) });
    const second = await accepted({ 'shared.txt': lines({ 15: 'second' }), 'second.txt': '2' });
    const third = await accepted({ 'shared.txt': lines({ 1: 'third' }) });
    const fourth = await accepted({ 'fourth.txt': '4' });
    let line = commitOf(await merge(round.base, first));
    line = commitOf(await merge(line, second));
    expect(await merge(line, third)).toEqual({ outcome: 'conflict', files: ['shared.txt'] });
    line = commitOf(await merge(line, fourth));
    expect(plainGit(round.store.dir, ['show', `${line}:shared.txt`])).toBe(lines({ 1: 'first', 15: 'second' }).trim());
    expect(Object.keys(filesAt(round.store.dir, line))).toEqual(['fourth.txt', 'same.txt', 'second.txt', 'shared.txt']);
    expect(plainGit(round.store.dir, ['cat-file', '-t', third])).toBe('commit');
  });

  it('D21 gives the same commit whenever it is begun again, and moves no ref', async () => {
    const [ours, theirs] = [await accepted({ 'ours.txt': 'o' }), await accepted({ 'theirs.txt': 't' })];
    const before = plainGit(round.store.dir, ['for-each-ref']);
    const several = await Promise.all([merge(ours, theirs), merge(ours, theirs), merge(ours, theirs)]);
    const [one = ''] = several.map(commitOf);
    expect(new Set(several.map(commitOf)).size).toBe(1);
    expect(plainGit(round.store.dir, ['for-each-ref'])).toBe(before);
    expect(plainGit(round.store.dir, ['log', '-1', '--format=%P|%an|%ae|%at|%ct|%s', one])).toBe(
      `${ours} ${theirs}|Agent|agent@example.test|${when.getTime() / 1000}|${when.getTime() / 1000}|Merge member`,
    );
  });

  it('W9 never does the same work twice, not even one more of the same line', async () => {
    const theirs = await accepted({ 'same.txt': 'a\na\na\na\n' });
    const line = commitOf(await merge(await accepted({ 'x.txt': 'x' }), theirs));
    expect(await merge(line, theirs)).toEqual({ outcome: 'already_merged' });
    const twin = await accepted({ 'same.txt': 'a\na\na\na\n', 'x.txt': 'x' });
    expect(await merge(line, twin)).toEqual({ outcome: 'already_merged' });
    expect(plainGit(round.store.dir, ['show', `${line}:same.txt`])).toBe('a\na\na\na');
  });

  it('D7 W20 says no_changes of a line that did not move', async () => {
    const ours = await accepted({ 'ours.txt': 'o' });
    expect(await merge(ours, round.base)).toEqual({ outcome: 'no_changes' });
    const empty = plainGit(round.store.dir, ['commit-tree', `${round.base}^{tree}`, '-p', round.base, '-m', 'nothing']);
    expect(await merge(ours, empty)).toEqual({ outcome: 'no_changes' });
  });

  it('is an error and no conflict when a commit is missing or nothing is common', async () => {
    const gone = '1234567890123456789012345678901234567890';
    for (const [ours, theirs] of [
      [round.base, gone],
      [gone, await accepted({ 'theirs.txt': 't' })],
    ] as const) {
      expect(await merge(ours, theirs)).toEqual({
        outcome: 'error',
        reason: 'A commit of the merge is not in the store.',
      });
    }
    const stranger = plainGit(round.store.dir, [
      'commit-tree',
      plainGit(round.store.dir, ['mktree'], ''),
      '-m',
      'stranger',
    ]);
    expect(await merge(round.base, stranger)).toEqual({
      outcome: 'error',
      reason: 'The two commits have no history in common.',
    });
  });

  it('H6 is an error when nobody could check the result out', async () => {
    const { dir } = round.store;
    const blob = plainGit(dir, ['hash-object', '-w', '--stdin'], 'x');
    const make = (name: string) => {
      const entry = Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, 'hex')]);
      const tree = plainGit(dir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], entry);
      return plainGit(dir, ['commit-tree', tree, '-p', round.base, '-m', 'evil']);
    };
    const probeFailed = { outcome: 'error', reason: 'The merged tree can not be checked out.' };
    expect(await merge(round.base, make('.git'))).toEqual(probeFailed);
    expect(await merge(round.base, make('n'.repeat(300)))).toEqual(probeFailed);
  });

  it('H6 D21 of several names the one that nobody could check out; it holds up no other, and nothing of it enters the store', async () => {
    const { dir } = round.store;
    const [first, last] = [await accepted({ 'first.txt': '1' }), await accepted({ 'last.txt': '2' })];
    const blob = plainGit(dir, ['hash-object', '-w', '--stdin'], 'x');
    const tree = plainGit(dir, ['mktree'], `100644 blob ${blob}\t${'n'.repeat(300)}`);
    const evil = plainGit(dir, ['commit-tree', tree, '-p', round.base, '-m', 'evil']);
    const same = await accepted({ 'same.txt': 'b\n' });
    const clash = await accepted({ 'same.txt': 'c\n' });
    const before = plainGit(dir, ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']).split('\n');
    const branches = [first, evil, same, clash, round.base, last];
    const { head, merges } = await mergeAll(round.base, ...branches);
    const outcomes = ['merged', 'error', 'merged', 'conflict', 'no_changes', 'merged'];
    expect(merges.map(({ outcome }) => outcome)).toEqual(outcomes);
    expect(head).toBe(commitOf(merges[5] ?? { outcome: 'no_changes' }));
    expect(Object.keys(filesAt(dir, head))).toEqual(['first.txt', 'last.txt', 'same.txt', 'shared.txt']);
    expect(plainGit(dir, ['show', `${head}:same.txt`])).toBe('b');
    // Three merge commits, and their trees but the first's, which is the first branch's own.
    const made = plainGit(dir, ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']).split('\n');
    expect(made.length - before.length).toBe(5);
    expect((await mergeAll(round.base, ...branches)).merges).toEqual(merges);
  });

  it('runs no driver, filter or hook that a tree or the process asks for', async () => {
    const theirs = await accepted({
      '.gitattributes': '* merge=union filter=evil working-tree-encoding=UTF-99\n',
      'shared.txt': lines({ 3: 'theirs' }),
    });
    const ours = await accepted({
      '.gitattributes': '* merge=union filter=evil working-tree-encoding=UTF-99\n',
      'shared.txt': lines({ 3: 'ours' }),
    });
    expect(await merge(ours, theirs)).toEqual({ outcome: 'conflict', files: ['shared.txt'] });
    const other = await accepted({
      '.gitattributes': '* filter=evil working-tree-encoding=UTF-99\n',
      [join('deep', 'x')]: 'x',
    });
    expect((await merge(round.base, other)).outcome).toBe('merged');
  });
});
