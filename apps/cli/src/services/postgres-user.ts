import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { FarmError } from '#contracts';
import { childEnvironment } from './child-environment.js';

/** `nobody` on every Linux: PostgreSQL refuses to run as root, so root becomes somebody else for it. */
const nobody = 65_534;

/** How PostgreSQL's programs are started: words before the command, and who must own the data on disk. */
export interface PostgresUser {
  readonly prefix: readonly string[];
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
}

const ordinaryUser: PostgresUser = { prefix: [], owner: undefined };

/** Root under another name in a user namespace: the files stay root's, so a 0700 home above them is no hindrance. */
export const namespacedRoot: PostgresUser = {
  prefix: ['unshare', '--user', `--map-user=${nobody}`],
  owner: { uid: 0, gid: 0 },
};

/** For systems that refuse user namespaces (most containers): another user, who may still walk through a 0700 folder. */
export const nobodyWithReach: PostgresUser = {
  prefix: [
    'setpriv',
    `--reuid=${nobody}`,
    `--regid=${nobody}`,
    '--clear-groups',
    // Without it access(2), which PostgreSQL asks for its own path, does not count the capability.
    '--securebits=+no_setuid_fixup',
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--bounding-set=-all,+dac_override',
  ],
  owner: { uid: nobody, gid: nobody },
};

/** The first way in which this machine runs the given server program. FarmError misconfigured, naming the ways, when root has none. */
export async function postgresUser(postgres: string): Promise<PostgresUser> {
  if (process.getuid?.() !== 0) return ordinaryUser;
  for (const user of [namespacedRoot, nobodyWithReach]) {
    if (await works(user, postgres)) return user;
  }
  throw new FarmError(
    'misconfigured',
    'PostgreSQL does not run as root, and this machine lets root become nobody else.',
    {
      hint: 'Run Longshore as an ordinary user, install util-linux (unshare, setpriv), or name a server in DATABASE_URL.',
    },
  );
}

async function works(user: PostgresUser, postgres: string): Promise<boolean> {
  const [first = '', ...rest] = [...user.prefix, postgres, '--version'];
  const tried = await execa(first, rest, { reject: false, stdio: 'ignore', env: childEnvironment(), extendEnv: false });
  return tried.exitCode === 0;
}

/** Gives a data folder to the user that the server runs as, for when another way was used before. */
export async function giveTo(user: PostgresUser, folder: string): Promise<void> {
  if (user.owner === undefined) return;
  const { uid, gid } = user.owner;
  if ((await lstat(folder)).uid === uid) return;
  for (const entry of await readdir(folder, { recursive: true })) await lchown(join(folder, entry), uid, gid);
  // Last, so that a crash in between leaves the sign that it is not done.
  await lchown(folder, uid, gid);
}
