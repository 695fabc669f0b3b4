import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FarmError, type FileReference, type InputOf, type taskStart } from '#contracts';
import { importBundle, type ObjectStore, openStore, treeHas } from '#git';
import type { TeamParts } from '../parts.js';
import { sourceName } from '../task/task-store.js';

/** A file that is named and is none of the base. */
interface WrongFile {
  readonly index: number;
  readonly path: string;
  readonly is: 'missing' | 'symlink' | 'directory';
}

/** Files that a Task names and that are no regular file of its base, with no symbolic link on the way (O12, I22). */
export async function wrongFiles(
  store: ObjectStore,
  base: string,
  files: readonly FileReference[],
): Promise<readonly WrongFile[]> {
  const wrong: WrongFile[] = [];
  for (const [index, { path }] of files.entries()) {
    const is = await treeHas(store, base, path);
    if (is !== 'regular') wrong.push({ index, path, is });
  }
  return wrong;
}

/** For who reads why the Task waits. */
export function tellWrongFiles(wrong: readonly WrongFile[]): string {
  const said = wrong.map(({ path, is }) => `${path} ${explain[is]}`).join('; ');
  return `What the Task starts from does not have the files that it names: ${said}.`;
}

const explain = { missing: 'is not there', symlink: 'is a symbolic link', directory: 'is a folder' } as const;

/**
 * Before anything is written: what can be known of the named files by now. A source that is still to be fetched is looked at when
 * it is there.
 *
 * @throws invalid_task_path, naming the places in the list
 */
export async function requireFilesAtStart(
  parts: TeamParts,
  principal: string,
  { files, source, repository, workspace }: InputOf<typeof taskStart>,
): Promise<void> {
  if (files.length === 0 || repository !== undefined || workspace !== undefined) return;
  if (source.kind === 'empty') throw refusal(files.map(({ path }, index) => ({ path, index, is: 'missing' as const })));
  const name = sourceName(principal, source.sha256);
  // one that is not there is refused by its own name
  if ((await parts.objects.size(name)) === undefined) return;
  const folder = await mkdtemp(join(tmpdir(), 'longshore-files-'));
  try {
    const store = await openStore(join(folder, 'store.git'));
    await importBundle(store, parts.objects.path(name), { limits: parts.gitLimits ?? {} });
    const wrong = await wrongFiles(store, source.commit, files);
    if (wrong.length > 0) throw refusal(wrong);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function refusal(wrong: readonly WrongFile[]): FarmError {
  return new FarmError('invalid_task_path', 'A file that is named is no regular file of what the Task starts from.', {
    fields: wrong.map(({ index, is }) => ({ path: `/files/${index}/path`, rule: is })),
    hint: 'Name files by their path in the repository, without symbolic links; what git ignores does not go along.',
  });
}
