import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { agent, aRound, when } from '../../../test/support/git-round.js';
import { writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { intakePack } from './intake-pack.js';
import { mergeInto } from './merge-into.js';
import { openMergeTalk } from './merge-talk.js';

jest.setTimeout(60_000);

const loopThat = (answers: readonly string[]) => {
  const closed: string[] = [];
  const left = [...answers];
  return {
    closed,
    run: () => Promise.reject(new Error('nothing else runs while it talks')),
    runBoth: () => Promise.reject(new Error('nothing else runs while it talks')),
    talkTo: () => ({
      async ask(_: string, isWhole: (said: Buffer) => boolean) {
        const said = Buffer.from(left.shift() ?? '');
        return isWhole(said) ? said : undefined;
      },
      hangUp: () => undefined,
      async close() {
        closed.push('talk');
      },
    }),
    end: async () => undefined,
  };
};
const tree = 'a'.repeat(40);

it('is whole with the last NUL: files of a conflict are each named once, and a conflict without files is none the less one', async () => {
  const clean = `1\0${tree}\0\0`;
  const conflict = `0\0${tree}\0a b\0c\0a b\0\0`;
  const talk = await openMergeTalk(loopThat([clean, clean, conflict, `0\0${tree}\0\0`, `0\0${tree}\0a\0`]), tree);
  expect(talk?.tree).toBe(tree);
  expect(await talk?.merge(tree, tree)).toEqual({ tree, conflicts: undefined });
  expect(await talk?.merge(tree, tree)).toEqual({ tree, conflicts: ['a b', 'c'] });
  expect(await talk?.merge(tree, tree)).toEqual({ tree, conflicts: [] });
  expect(await talk?.merge(tree, tree)).toBeUndefined();
});

it('is no talk with a git that has ended instead', async () => {
  const loop = loopThat(['128\0\0\0']);
  expect(await openMergeTalk(loop, tree)).toBeUndefined();
  expect(loop.closed).toEqual(['talk']);
});

it('D21 a git that holds back what it prints merges one by one, to the same commits', async () => {
  const round = await aRound({ 'same.txt': 'a\n' });
  const accepted = async (files: Readonly<Record<string, string>>) => {
    const workspace = await round.workspace();
    writeFiles(workspace.dir, files);
    const pack = await workspace.pack();
    await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit });
    return pack.commit;
  };
  const theirs = [
    await accepted({ 'b.txt': 'b' }),
    await accepted({ 'same.txt': 'c\n' }),
    await accepted({ 'd.txt': 'd' }),
  ];
  const branches = theirs.map((each) => ({ theirs: each, base: round.base, message: 'Merge', author: agent, when }));
  const merge = () => mergeInto(round.store, { ours: round.base, branches });
  const talked = await merge();
  expect(talked.merges.map(({ outcome }) => outcome)).toEqual(['merged', 'merged', 'merged']);

  // As where there is no such program: what it starts goes on to hold back.
  const programs = tempDir();
  writeFileSync(join(programs, 'stdbuf'), '#!/bin/sh\nshift\nexec "$@"\n');
  chmodSync(join(programs, 'stdbuf'), 0o755);
  const path = process.env.PATH;
  process.env.PATH = `${programs}:${path}`;
  try {
    expect(await merge()).toEqual(talked);
    expect(await merge()).toEqual(talked);
  } finally {
    process.env.PATH = path;
  }
});
