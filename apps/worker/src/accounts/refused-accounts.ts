import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { limits } from '#contracts';
import type { SessionAccount } from '../provider/port.js';
import type { AccountEntry } from './worker-file.js';

interface Refusal {
  /** What was shown to the provider, as a digest. */
  readonly shown: string;
  readonly until: number;
}

/** Where each program keeps its login, in the folder that the variable names or its own. */
const logins: Readonly<Record<string, { readonly variable: string; readonly own: string; readonly file: string }>> = {
  claude: { variable: 'CLAUDE_CONFIG_DIR', own: '.claude', file: '.credentials.json' },
  codex: { variable: 'CODEX_HOME', own: '.codex', file: 'auth.json' },
};

/**
 * Accounts whose login or key a provider refused. One stays refused until something else would be shown, a key, a login or another
 * entry, or `limits.accountRefusedMs` are over: a service that was wrong about it must not end an account for ever.
 */
export class RefusedAccounts {
  private readonly refusals = new Map<string, Refusal>();

  constructor(private readonly now: () => number = Date.now) {}

  async add(name: string, entry: AccountEntry, account: SessionAccount): Promise<void> {
    this.refusals.set(name, { shown: await shownBy(entry, account), until: this.now() + limits.accountRefusedMs });
  }

  /** True while the same would be shown again. */
  async holds(name: string, entry: AccountEntry, account: SessionAccount): Promise<boolean> {
    const refusal = this.refusals.get(name);
    if (refusal === undefined) return false;
    if (this.now() < refusal.until && refusal.shown === (await shownBy(entry, account))) return true;
    this.refusals.delete(name);
    return false;
  }
}

async function shownBy(entry: AccountEntry, { environment, secrets }: SessionAccount): Promise<string> {
  const login = logins[entry.provider];
  const folder = login && (environment[login.variable] ?? join(homedir(), login.own));
  const file = login && folder ? await stat(join(folder, login.file)).catch(() => undefined) : undefined;
  const facts = JSON.stringify([entry, environment, secrets, file?.mtimeMs ?? null, file?.size ?? null]);
  return createHash('sha256').update(facts).digest('hex');
}
