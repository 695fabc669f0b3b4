import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { agent, aRound, type Round, when } from '../../../test/support/git-round.js';
import { plainGit } from '../../../test/support/repositories.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { commitFiles } from './commit-files.js';
import { intakePack } from './intake-pack.js';
import { layTeam } from './lay-team.js';
import { packFor } from './pack-for.js';
import { isMergedInto, isSmallTree, teamBundleFor } from './team-bundle.js';

/** A child's work and notes, accepted. */
async function broughtBy(
  round: Round,
  files: Readonly<Record<string, string>>,
  notes: Readonly<Record<string, string>>,
) {
  const workspace = await round.workspace();
  for (const [path, content] of Object.entries(files)) writeFileSync(join(workspace.dir, path), content);
  const pack = await workspace.pack();
  await intakePack(round.store, { pack: pack.path, base: round.base, commit: pack.commit });
  const { gitDir, base } = workspace;
  const said = Object.entries(notes).map(([path, content]) => ({ path, content }));
  const noted = await commitFiles({ gitDir, base, files: said, message: 'Notes', author: agent, when });
  const small = await packFor({ gitDir, base, commit: noted.commit, out: join(tempDir('notes'), 'pack') });
  await intakePack(round.store, { pack: small.path, base, commit: noted.commit });
  return { commit: pack.commit, notes: noted.commit, tree: noted.tree };
}

describe('what a team has left', () => {
  it('is laid into a workspace of the base: a branch that git can merge, and notes that are in no branch', async () => {
    const round = await aRound({ 'a.txt': 'a\n' });
    const child = await broughtBy(
      round,
      { 'a.txt': 'changed\n', 'b.txt': 'b\n' },
      { 'x/one.md': 'ä\n', 'two.md': '2\n' },
    );
    const branch = 'longshore/child-12345678';
    const bundle = await teamBundleFor(round.store, {
      base: round.base,
      branches: [{ branch, commit: child.commit }],
      notes: [{ member: 'child', commit: child.notes }],
    });
    const { dir, ...own } = await round.workspace();
    const laid = await layTeam({ dir, bundle });
    expect(laid).toEqual({
      branches: [branch],
      notes: [
        {
          member: 'child',
          tree: child.tree,
          files: [
            { path: 'two.md', content: '2\n' },
            { path: 'x/one.md', content: 'ä\n' },
          ],
        },
      ],
    });
    expect(plainGit(dir, ['status', '--porcelain'])).toBe('');
    plainGit(dir, ['-c', 'user.name=a', '-c', 'user.email=a@b', 'merge', '-q', '--no-ff', '--no-edit', branch]);
    plainGit(dir, ['fsck', '--strict']);
    expect(readFileSync(join(dir, 'a.txt'), 'utf8')).toBe('changed\n');
    // What goes up says by the agent's own history that the branch is in it.
    const captured = await own.capture();
    if (captured.kind !== 'captured' || captured.ownCommits === undefined) throw new Error('nothing was captured');
    const up = await own.pack();
    await intakePack(round.store, { pack: up.path, base: round.base, commit: up.commit });
    expect(await isMergedInto(round.store, child.commit, captured.ownCommits)).toBe(true);
    expect(await isMergedInto(round.store, child.notes, captured.ownCommits)).toBe(false);
    expect(await isMergedInto(round.store, child.commit, 'f'.repeat(40))).toBe(false);
  });

  it('is refused where it has names that lead out of their folders', async () => {
    const round = await aRound({ 'a.txt': 'a\n' });
    const child = await broughtBy(round, { 'b.txt': 'b\n' }, { 'n.md': 'n\n' });
    const { commit, notes } = child;
    const { base } = round;
    for (const work of [
      { base, branches: [{ branch: 'longshore/..', commit }], notes: [] },
      { base, branches: [{ branch: 'longshore/a/b', commit }], notes: [] },
      { base, branches: [{ branch: 'main', commit }], notes: [] },
      { base, branches: [], notes: [{ member: '../x', commit: notes }] },
    ]) {
      const bundle = await teamBundleFor(round.store, work);
      const { dir } = await round.workspace();
      await expect(layTeam({ dir, bundle })).rejects.toMatchObject({ code: 'source_refused' });
    }
  });

  it('counts as small by its files and bytes, and only with regular files', async () => {
    const round = await aRound({ 'a.txt': 'a\n' });
    const { notes } = await broughtBy(round, { 'b.txt': 'b\n' }, { 'n.md': '12345', 'm.md': '67890' });
    expect(await isSmallTree(round.store, notes, { files: 2, bytes: 10 })).toBe(true);
    expect(await isSmallTree(round.store, notes, { files: 1, bytes: 10 })).toBe(false);
    expect(await isSmallTree(round.store, notes, { files: 2, bytes: 9 })).toBe(false);
  });
});
