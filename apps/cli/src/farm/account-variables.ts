import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** Where the programs keep the logins of this machine's owner. */
const always = ['CLAUDE_CONFIG_DIR', 'CODEX_HOME'];

const Named = z.object({ accounts: z.record(z.string(), z.unknown()) });
const Key = z.object({ key: z.object({ env: z.string().regex(/^(?!LONGSHORE_)[A-Za-z_][A-Za-z0-9_]*$/) }) });

/**
 * Of our environment what the accounts of a worker need: where logins lie, and the variables that its worker.yaml names for keys.
 * A file that does not hold is told by the worker itself.
 */
export async function accountVariables(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, string | undefined>>> {
  const names = new Set([...always, ...(await namedKeys(join(home, 'worker.yaml')))]);
  return Object.fromEntries([...names].map((name) => [name, env[name]]));
}

async function namedKeys(file: string): Promise<readonly string[]> {
  try {
    const { accounts } = Named.parse(parse(await readFile(file, 'utf8')));
    return Object.values(accounts).flatMap((account) => {
      const named = Key.safeParse(account);
      return named.success ? [named.data.key.env] : [];
    });
  } catch {
    return [];
  }
}
