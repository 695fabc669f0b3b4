import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FarmError } from '#contracts';
import { withFolder } from './folders.js';
import { git, gitToFile } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import { type Oid, requireOid } from './oid.js';
import { commitTree, holdsCommit, type ObjectStore, treeOf } from './store.js';

interface PatchAsked {
  readonly base: Oid;
  readonly commit: Oid;
  /** Of the one patch that stands for a history with merges. One line. */
  readonly title: string;
  readonly limits?: Partial<GitLimits>;
}

const author = { name: 'Longshore', email: 'longshore@longshore.invalid' };

/**
 * The path of a mailbox that `git am` takes on the base and that leads to the commit's very tree, binary files and modes too. One
 * patch per commit; a history with merges, which no mailbox can hold, is one patch for all. Kept as a file by content.
 *
 * @throws FarmError `not_found` when the store does not hold the commits · `too_large` · `disk_full` · `timeout`
 */
export async function patchFor(store: ObjectStore, asked: PatchAsked): Promise<string> {
  const limits = gitLimits(asked.limits);
  for (const oid of [asked.base, asked.commit]) {
    if (!(await holdsCommit(store.dir, requireOid(oid))))
      throw new FarmError('not_found', 'The store does not hold this commit.');
  }
  const path = join(store.dir, 'bundles', `${asked.base}-${asked.commit}.mbox`);
  if (await stat(path).catch(() => undefined)) return path;
  const range = `${asked.base}..${await linear(store, asked, limits)}`;
  return withFolder(join(store.dir, 'bundles'), async (folder) => {
    const draft = join(folder, 'patch');
    const how = [
      '--stdout',
      '--binary',
      '--full-index',
      '--no-signature',
      '--no-ext-diff',
      '--no-textconv',
      '--no-color',
    ];
    await gitToFile(
      ['format-patch', ...how, range],
      { gitDir: store.dir, limits },
      { path: draft, maxBytes: limits.storeBytes },
    );
    await rename(draft, path);
    return path;
  });
}

/** What `git am` would read as the end of the message or as the beginning of a patch: such a message could bring in another one. */
const endsMessage = /^(---|diff -|Index: |From )/m;

/** The commit itself, or one with its tree straight upon the base. */
async function linear(store: ObjectStore, { base, commit, title }: PatchAsked, limits: GitLimits): Promise<Oid> {
  const call = { gitDir: store.dir, limits };
  const range = `${base}..${commit}`;
  const merges = await git(['rev-list', '--min-parents=2', '--max-count=1', range], call);
  const messages = await git(['log', '--format=%B', range], call);
  if (merges.text === '' && !endsMessage.test(messages.text)) return commit;
  const dated = await git(['show', '-s', '--format=%ct', commit], call);
  const line = title.replace(/\s+/g, ' ').trim();
  return commitTree(store.dir, {
    tree: await treeOf(store.dir, commit),
    parents: [base],
    message: endsMessage.test(line) ? `Task: ${line}` : line,
    author,
    when: new Date(Number(dated.text) * 1000),
  });
}
