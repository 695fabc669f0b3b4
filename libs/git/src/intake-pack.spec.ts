import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { aRound, type Round } from '../../../test/support/git-round.js';
import { commitFiles, filesAt, plainGit, plainGitBytes, writeFiles } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { intakePack, type PackOffered } from './intake-pack.js';
import type { ObjectStore } from './store.js';

jest.setTimeout(60_000);

let round: Round;
beforeAll(async () => {
  round = await aRound({ 'a.txt': 'a\n', 'd/b.txt': 'b\n' });
});

/** All that a store holds: nothing of a refused pack may be in it. */
async function contentOf(store: ObjectStore): Promise<readonly string[]> {
  const names = await readdir(store.dir, { recursive: true });
  return names.filter((name) => !name.startsWith('bundles')).sort();
}

async function refusal(offered: PackOffered): Promise<string> {
  const before = await contentOf(round.store);
  const answer = await intakePack(round.store, offered).then(
    () => 'taken',
    (fault: { code: string; detail: string }) => `${fault.code}: ${fault.detail}`,
  );
  expect(await contentOf(round.store)).toEqual(before);
  return answer;
}

/** A clone of the store that somebody has full power over. */
function hostile(): string {
  const dir = join(tempDir(), 'hostile');
  plainGit('/', ['clone', '-q', '--no-checkout', round.store.dir, dir]);
  plainGit(dir, ['fetch', '-q', round.store.dir, round.base]);
  plainGit(dir, ['update-ref', 'refs/heads/main', round.base]);
  plainGit(dir, ['reset', '-q', '--hard', round.base]);
  return dir;
}

/** The pack of what one commit has over the base, made without any of our checks. */
function packOf(dir: string, commit: string, without = round.base): string {
  const path = join(tempDir(), 'up.pack');
  writeFileSync(
    path,
    plainGitBytes(dir, ['pack-objects', '--revs', '--thin', '--stdout', '-q'], `${commit}\n^${without}\n`),
  );
  return path;
}

/** Bytes of a tree object. */
const treeEntry = (mode: string, name: string, oid: string): Buffer =>
  Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')]);

function evilTree(dir: string, entries: readonly Buffer[]): string {
  return plainGit(dir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], Buffer.concat(entries));
}

const child = (dir: string, tree: string, parents = [round.base]): string =>
  plainGit(dir, ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-m', 'x']);

/** A pack of one blob, and of deltas written by hand. */
function packFile(objects: readonly Buffer[]): string {
  const head = Buffer.alloc(12);
  head.write('PACK', 'latin1');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const body = Buffer.concat([head, ...objects]);
  const path = join(tempDir(), 'by-hand.pack');
  writeFileSync(path, Buffer.concat([body, createHash('sha1').update(body).digest()]));
  return path;
}

function packedObject(type: number, size: number, head: Buffer, content: Buffer): Buffer {
  const bytes = [];
  let rest = Math.floor(size / 16);
  let byte = (type << 4) | (size & 15);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  return Buffer.concat([Buffer.from([...bytes, byte]), head, deflateSync(content)]);
}

function varint(value: number): number[] {
  const bytes = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return [...bytes, rest];
}

describe('a pack that comes up', () => {
  it('H5 is taken whole, by file or as a stream, and may come twice', async () => {
    const workspace = await round.workspace();
    writeFiles(workspace.dir, { 'd/b.txt': 'changed\n', 'd/new.txt': 'new' });
    const pack = await workspace.pack();
    const offered = { base: round.base, commit: pack.commit };
    expect(await intakePack(round.store, { ...offered, pack: createReadStream(pack.path) })).toEqual({
      commit: pack.commit,
    });
    expect(await intakePack(round.store, { ...offered, pack: pack.path })).toEqual({ commit: pack.commit });
    expect(Object.keys(filesAt(round.store.dir, pack.commit))).toEqual(['a.txt', 'd/b.txt', 'd/new.txt']);
    expect(statSync(pack.path).size).toBeLessThan(1000);
  });

  it('H19 leaves the store with all of its objects its own', async () => {
    const workspace = await round.workspace();
    writeFiles(workspace.dir, { 'own.txt': 'own' });
    const pack = await workspace.pack();
    await intakePack(round.store, { base: round.base, commit: pack.commit, pack: pack.path });
    plainGit(round.store.dir, ['fsck', '--full', '--strict', pack.commit]);
    expect((await contentOf(round.store)).filter((name) => /alternates|quarantine\/./.test(name))).toEqual([]);
  });

  it('H5 is refused when it is truncated or damaged', async () => {
    const workspace = await round.workspace();
    writeFiles(workspace.dir, { 'a.txt': 'truncated' });
    const pack = await workspace.pack();
    const whole = readFileSync(pack.path);
    const offered = { base: round.base, commit: pack.commit, pack: pack.path };
    for (const length of [0, 11, 40, whole.length - 1]) {
      writeFileSync(pack.path, whole.subarray(0, length));
      expect(await refusal(offered)).toBe('commit_refused: The pack is truncated or damaged.');
    }
    const flipped = Buffer.from(whole);
    flipped.writeUInt8((flipped.at(50) ?? 0) ^ 0xff, 50);
    writeFileSync(pack.path, flipped);
    expect(await refusal(offered)).toBe('commit_refused: The pack is truncated or damaged.');
  });

  it('H5 does not give away the commit of somebody else', async () => {
    const theirs = await round.workspace();
    writeFiles(theirs.dir, { 'theirs.txt': 'theirs' });
    const accepted = await theirs.pack();
    await intakePack(round.store, { base: round.base, commit: accepted.commit, pack: accepted.path });
    const mine = await round.workspace();
    writeFiles(mine.dir, { 'mine.txt': 'mine' });
    const pack = await mine.pack();
    expect(await refusal({ base: round.base, commit: accepted.commit, pack: pack.path })).toBe(
      'commit_refused: The pack does not hold the commit that it is sent for.',
    );
    expect(await refusal({ base: round.base, commit: accepted.commit, pack: packFile([]) })).toMatch(/^commit_refused/);
    expect(await refusal({ base: round.base, commit: pack.commit, extra: [accepted.commit], pack: pack.path })).toBe(
      'commit_refused: The pack does not hold the commit that it is sent for.',
    );
  });

  it('H5 is refused when the commit has another parent than the pinned base, two, or none', async () => {
    const dir = hostile();
    const tree = plainGit(dir, ['rev-parse', 'HEAD^{tree}']);
    const first = commitFiles(dir, { 'one.txt': '1' }, 'One');
    const second = commitFiles(dir, { 'two.txt': '2' }, 'Two');
    const merged = child(dir, tree, [round.base, first]);
    const root = plainGit(dir, ['commit-tree', tree, '-m', 'root']);
    const ask = (commit: string) => refusal({ base: round.base, commit, pack: packOf(dir, commit) });
    expect(await ask(second)).toBe('commit_refused: The parent of the commit is not the pinned base.');
    expect(await ask(merged)).toBe(
      'commit_refused: The commit has two parents or more; its only parent must be the pinned base.',
    );
    expect(await ask(root)).toBe('commit_refused: The commit has no parent; it needs the pinned base.');
  });

  it('H5 H31 is refused for a tree with .git, .. or another unsafe name, at any depth', async () => {
    const dir = hostile();
    const blob = plainGit(dir, ['hash-object', '-w', '--stdin'], '#!/bin/sh\n');
    const hooks = evilTree(dir, [treeEntry('100755', 'post-checkout', blob)]);
    const git = evilTree(dir, [treeEntry('40000', 'hooks', hooks)]);
    const unsafe = 'commit_refused: A tree in the pack has an entry with an unsafe name.';
    const dotGit = 'commit_refused: A tree in the pack holds a .git.';
    const cases: readonly (readonly [string, string])[] = [
      [evilTree(dir, [treeEntry('40000', '.git', git)]), dotGit],
      [evilTree(dir, [treeEntry('40000', 'deep', evilTree(dir, [treeEntry('100644', '.git', blob)]))]), dotGit],
      [evilTree(dir, [treeEntry('40000', '.GIT', git)]), dotGit],
      [evilTree(dir, [treeEntry('40000', 'git~1', git)]), dotGit],
      [evilTree(dir, [treeEntry('40000', '..', hooks)]), unsafe],
      [evilTree(dir, [treeEntry('40000', '.', hooks)]), unsafe],
      [evilTree(dir, [treeEntry('100644', '../../outside', blob)]), unsafe],
      [
        evilTree(dir, [treeEntry('100644', 'b', blob), treeEntry('100644', 'a', blob)]),
        'commit_refused: An object in the pack does not pass fsck (treeNotSorted).',
      ],
    ];
    for (const [tree, why] of cases) {
      const commit = child(dir, tree);
      expect(await refusal({ base: round.base, commit, pack: packOf(dir, commit) })).toBe(why);
    }
  });

  it('H5 is refused when something that it needs is nowhere', async () => {
    const dir = hostile();
    const gone = '1234567890123456789012345678901234567890';
    const unconnected = 'commit_refused: The pack is not connected: objects that it needs are not there.';
    const tree = evilTree(dir, [treeEntry('100644', 'a', gone)]);
    const commit = child(dir, tree);
    const path = join(tempDir(), 'up.pack');
    writeFileSync(path, plainGitBytes(dir, ['pack-objects', '--stdout', '-q'], `${commit}\n${tree}\n`));
    expect(await refusal({ base: round.base, commit, pack: path })).toBe(unconnected);
    const other = commitFiles(dir, { 'a.txt': `${'line\n'.repeat(500)}1` }, 'A base that the store has not');
    const delta = commitFiles(dir, { 'a.txt': `${'line\n'.repeat(500)}2` }, 'A delta of it');
    expect(await refusal({ base: round.base, commit: delta, pack: packOf(dir, delta, other) })).toMatch(
      /not connected|truncated/,
    );
    expect(await refusal({ base: gone, commit, pack: path })).toBe(
      'commit_refused: The base of the commit is not in the store.',
    );
  });

  it('H31 is refused over its limits: bytes sent, objects, bytes inflated', async () => {
    const workspace = await round.workspace();
    writeFiles(workspace.dir, { zeros: '' });
    truncateSync(join(workspace.dir, 'zeros'), 20 * 1024 ** 2);
    writeFiles(workspace.dir, Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`many/${at}`, `${at}`])));
    const pack = await workspace.pack();
    const offered = { base: round.base, commit: pack.commit, pack: pack.path };
    expect(await refusal({ ...offered, limits: { packInflatedBytes: 10 * 1024 ** 2 } })).toBe(
      'commit_refused: The pack inflates to more than its limit.',
    );
    expect(await refusal({ ...offered, limits: { packObjects: 50 } })).toBe(
      'commit_refused: The pack holds more objects than its limit.',
    );
    expect(await refusal({ ...offered, limits: { packBytes: 1000 } })).toBe(
      'commit_refused: The pack is larger than its limit.',
    );
    expect(await refusal({ ...offered, pack: createReadStream(pack.path), limits: { packBytes: 1000 } })).toBe(
      'commit_refused: The pack is larger than its limit.',
    );
    expect(await refusal({ ...offered, limits: { storeBytes: 1000 } })).toBe(
      'commit_refused: The Task holds as much as its quota allows.',
    );
    expect(await refusal({ ...offered, limits: { diskFloorBytes: Number.MAX_SAFE_INTEGER } })).toMatch(/^disk_full/);
    expect(await refusal({ ...offered, limits: { gitSeconds: 0.001 } })).toMatch(/^timeout/);
    await intakePack(round.store, offered);
  });

  it('H31 holds a pack that says it is small to what it said', async () => {
    const lie = readFileSync(packFile([packedObject(3, 1, Buffer.alloc(0), Buffer.from('x'))]));
    lie.writeUInt32BE(2_000_000, 8);
    const path = join(tempDir(), 'lie.pack');
    writeFileSync(path, lie);
    expect(await refusal({ base: round.base, commit: round.base, pack: path })).toBe(
      'commit_refused: The pack holds more objects than its limit.',
    );
  });

  it('H31 gives a bomb of deltas no more memory than its limit', async () => {
    const source = Buffer.alloc(0xffff);
    const copies = 0x8000;
    const target = source.length * copies;
    // each instruction copies 65,535 bytes from the start of the blob before it: 100 KB say 2 GiB
    const copy = Buffer.from([0x80 | 0x10 | 0x20, 0xff, 0xff]);
    const delta = Buffer.concat([
      Buffer.from([...varint(source.length), ...varint(target)]),
      Buffer.concat(Array.from({ length: copies }, () => copy)),
    ]);
    const blob = packedObject(3, source.length, Buffer.alloc(0), source);
    const bomb = packedObject(6, delta.length, Buffer.from(offsetOf(blob.length)), delta);
    const pack = packFile([blob, bomb]);
    expect(statSync(pack).size).toBeLessThan(10_000);
    expect(
      await refusal({
        base: round.base,
        commit: round.base,
        pack,
        limits: { gitMemoryBytes: 1024 ** 3, packInflatedBytes: Number.MAX_SAFE_INTEGER },
      }),
    ).toBe('commit_refused: The pack inflates to more than its limit.');
  });
});

/** How far back an OFS_DELTA's base begins. */
function offsetOf(distance: number): number[] {
  const bytes = [distance & 0x7f];
  for (let rest = distance >> 7; rest > 0; rest >>= 7) {
    rest -= 1;
    bytes.unshift(0x80 | (rest & 0x7f));
  }
  return bytes;
}
