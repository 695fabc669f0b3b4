import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FarmError } from '#contracts';
import { admitBundle } from './admit-bundle.js';
import { readBundleHeader } from './bundle.js';
import { git } from './git.js';
import { type GitLimits, gitLimits } from './git-limits.js';
import type { Oid } from './oid.js';
import { teamRefs } from './team-bundle.js';

interface TeamLaid {
  /** The branches that the agent finds beside its own. */
  readonly branches: readonly string[];
  readonly notes: readonly MemberNotes[];
}

export interface MemberNotes {
  readonly member: string;
  readonly tree: Oid;
  /** Relative to the member's folder of notes. */
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

/** What may stand in a ref and in a path, without a thought. */
const safeName = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?![./]|lock$))*$/;

/**
 * Lays the branches of a team's bundle into the agent's repository, which has the base and which the agent has not seen yet, so
 * that it can look at them and merge them. Answers what the notes hold: where they go is the caller's.
 *
 * @throws FarmError `source_refused` for a damaged bundle · `disk_full` · `timeout`
 */
export async function layTeam(asked: {
  readonly dir: string;
  readonly bundle: string;
  readonly limits?: Partial<GitLimits>;
}): Promise<TeamLaid> {
  const limits = gitLimits(asked.limits);
  const gitDir = join(asked.dir, '.git');
  const header = await readBundleHeader(asked.bundle);
  const quarantineFolder = join(gitDir, 'quarantine');
  await admitBundle({ gitDir, quarantineFolder, path: asked.bundle, header, thin: true, limits });
  await rm(quarantineFolder, { recursive: true, force: true });
  const named = (prefix: string) =>
    header.refs.flatMap(({ name, oid }) => (name.startsWith(prefix) ? [{ name: name.slice(prefix.length), oid }] : []));
  const branches = named(teamRefs.branches);
  for (const { name, oid } of branches) await writeBranch(gitDir, name, oid);
  const notes: MemberNotes[] = [];
  for (const { name, oid } of named(teamRefs.notes)) {
    requireSafe(safeName.test(name));
    notes.push({ member: name, tree: oid, files: await filesOf(gitDir, oid) });
  }
  return { branches: branches.map(({ name }) => name), notes };
}

async function writeBranch(gitDir: string, name: string, oid: Oid): Promise<void> {
  const [prefix, rest = '', ...more] = name.split('/');
  requireSafe(prefix === 'longshore' && more.length === 0 && safeName.test(rest));
  const ref = join(gitDir, 'refs', 'heads', 'longshore', rest);
  await mkdir(dirname(ref), { recursive: true });
  await writeFile(ref, `${oid}\n`);
}

function requireSafe(holds: boolean): void {
  if (!holds) throw new FarmError('source_refused', 'The bundle of the team has names that are none of ours.');
}

/** Text files alone; what else a tree of notes might hold is left out. */
async function filesOf(gitDir: string, tree: Oid): Promise<MemberNotes['files']> {
  const listed = (await git(['ls-tree', '-r', '-z', tree], { gitDir })).stdout.toString('utf8');
  const files: { path: string; content: string }[] = [];
  for (const entry of listed.split('\0')) {
    const [, oid = '', path = ''] = /^100(?:644|755) blob ([0-9a-f]+)\t(.+)$/s.exec(entry) ?? [];
    if (path === '' || path.split('/').some((part) => ['', '.', '..', '.git'].includes(part.toLowerCase()))) continue;
    files.push({ path, content: (await git(['cat-file', 'blob', oid], { gitDir })).stdout.toString('utf8') });
  }
  return files;
}
