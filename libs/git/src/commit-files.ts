import { join } from 'node:path';
import { withFolder } from './folders.js';
import { git } from './git.js';
import { type Oid, oidOf, requireOid } from './oid.js';
import { commitTree, type Person } from './store.js';

interface FilesToCommit {
  /** Ours. */
  readonly gitDir: string;
  /** The sole parent. */
  readonly base: Oid;
  readonly files: readonly { readonly path: string; readonly content: string }[];
  readonly message: string;
  readonly author: Person;
  readonly when: Date;
}

/** A commit of these files and nothing else. The same files at the same moment are the same commit. */
export async function commitFiles(asked: FilesToCommit): Promise<{ readonly commit: Oid; readonly tree: Oid }> {
  const { gitDir, files, message, author, when } = asked;
  return withFolder(gitDir, async (folder) => {
    const call = { gitDir, durable: false, env: { GIT_INDEX_FILE: join(folder, 'index') } };
    const lines: string[] = [];
    for (const { path, content } of files) {
      const blob = (await git(['hash-object', '-w', '--stdin'], { ...call, input: content })).text;
      lines.push(`100644 ${blob}\t${path}\0`);
    }
    await git(['update-index', '--add', '-z', '--index-info'], { ...call, input: lines.join('') });
    const tree = oidOf((await git(['write-tree'], call)).text);
    const parts = { tree, parents: [requireOid(asked.base)], message, author, when };
    return { commit: await commitTree(gitDir, parts, { durable: false }), tree };
  });
}
