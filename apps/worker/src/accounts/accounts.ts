import { homedir } from 'node:os';
import { join } from 'node:path';
import { type AccountOffer, FarmError, Label } from '#contracts';
import { faultOf, type Log } from '../log.js';
import type { Availability, Provider, SessionAccount } from '../provider/port.js';
import { RefusedAccounts } from './refused-accounts.js';
import {
  type AccountEntry,
  type HeldFile,
  type Price,
  pathIn,
  readHeldFile,
  readKey,
  readWorkerFile,
  type WorkerFile,
} from './worker-file.js';

/** An account, ready for one session. */
export interface ReadyAccount {
  readonly provider: Provider;
  readonly account: SessionAccount;
  readonly program?: string;
  /** Arguments of the program, for an ACP agent. */
  readonly arguments?: readonly string[];
}

/** What was found of an account, and what mends it. */
export interface AccountFinding {
  readonly name: string;
  readonly provider: string;
  readonly found: Availability;
}

interface AccountsNeed {
  /** The worker's own folder. */
  readonly home: string;
  readonly host: string;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Throws FarmError where no real agent may run on this machine (H28). */
  readonly requireWalls: () => void;
  readonly log: Log;
}

/** The variable in which each program wants its key, and the one that names the folder of its login. */
const wants: Readonly<Record<string, { readonly key: string; readonly login: string }>> = {
  claude: { key: 'ANTHROPIC_API_KEY', login: 'CLAUDE_CONFIG_DIR' },
  codex: { key: 'OPENAI_API_KEY', login: 'CODEX_HOME' },
};

/** Costs nothing and needs no login. */
const builtIn = 'scripted';

/**
 * The provider accounts of this machine: those of its owner's file, and for a provider that the file does not name the owner's own
 * login. Looked at once a minute, so that a login or an edit is seen without a restart; a file that does not hold any more leaves
 * what was read before.
 */
export class Accounts {
  private offered: readonly AccountOffer[] = [];
  private readonly refused = new RefusedAccounts();

  private file: WorkerFile;
  private mistake: FarmError | undefined;
  /** No file has held yet: whoever wrote one meant other accounts than the owner's own logins. */
  private blank: boolean;

  private constructor(
    private readonly need: AccountsNeed,
    { file, mistake }: HeldFile,
  ) {
    this.file = file;
    this.mistake = mistake;
    this.blank = mistake !== undefined;
  }

  /**
   * A mistake in the owner's file leaves the worker without accounts, and is told.
   *
   * @throws FarmError `misconfigured` when it does not even say which walls there are
   */
  static async open(need: AccountsNeed): Promise<Accounts> {
    return new Accounts(need, await readHeldFile(need.home));
  }

  /** What is wrong with the owner's file, with its line and its key; for the beat. */
  get trouble(): string | undefined {
    return this.mistake && `${this.blank ? 'No accounts' : 'Its last accounts stand'}: ${this.mistake.detail}`;
  }

  /** For the beat, as of the last look; in the owner's order. */
  get offers(): readonly AccountOffer[] {
    return this.offered;
  }

  get prices(): Readonly<Record<string, Price>> {
    return this.file.prices;
  }

  /** Whether the owner's file names it. */
  isConfigured(name: string): boolean {
    return Object.hasOwn(this.file.accounts, name);
  }

  get names(): readonly string[] {
    return Object.keys(this.entries());
  }

  /** Reads the file again and asks each provider; spends nothing. */
  async look(): Promise<void> {
    try {
      this.file = await readWorkerFile(this.need.home);
      this.mistake = undefined;
      this.blank = false;
    } catch (error) {
      if (error instanceof FarmError) this.noteMistake(error);
      else this.need.log.error({ fault: faultOf(error) }, 'the configuration of this worker could not be read');
    }
    const offers = await Promise.all(
      Object.entries(this.entries()).map(async ([name, entry]) => offerOf(name, entry, (await this.find(name)).found)),
    );
    // nobody asked for the owner's own logins: what is not there is no news
    this.offered = offers.filter(({ name, usable }) => usable || this.isConfigured(name));
  }

  /** Once, and again when it is another one. */
  private noteMistake(mistake: FarmError): void {
    const isNews = mistake.detail !== this.mistake?.detail;
    this.mistake = mistake;
    if (isNews || this.blank) this.need.log.error(`${this.trouble} ${mistake.hint ?? ''}`.trim());
  }

  /** A session's provider refused its login or key: it is offered no more until that is mended. Answers what mends it. */
  async refuse(name: string): Promise<string> {
    const entry = this.entries()[name];
    if (entry === undefined) return 'See its worker.yaml.';
    const { account } = await this.ready(name);
    await this.refused.add(name, entry, account);
    const found = refusal(name, entry);
    this.offered = this.offered.map((offer) => (offer.name === name ? offerOf(name, entry, found) : offer));
    return found.fix;
  }

  /** What an account lacks, if anything. */
  async find(name: string): Promise<AccountFinding> {
    const provider = this.entries()[name]?.provider ?? '';
    try {
      const ready = await this.ready(name);
      if (provider !== builtIn) this.need.requireWalls();
      const { provider: its, ...wish } = ready;
      const entry = this.entries()[name];
      const isRefused = entry !== undefined && (await this.refused.holds(name, entry, ready.account));
      return { name, provider, found: isRefused ? refusal(name, entry) : await its.availability(wish) };
    } catch (error) {
      if (!(error instanceof FarmError))
        this.need.log.warn({ account: name, fault: faultOf(error) }, 'an account could not be looked at');
      const reason = error instanceof FarmError ? error.detail : 'Its provider could not be looked at.';
      const fix = (error instanceof FarmError ? error.hint : undefined) ?? "See the worker's log.";
      return { name, provider, found: { usable: false, code: 'environment', reason, fix } };
    }
  }

  /** @throws FarmError `misconfigured`: no such account, no such provider, a key that is not there, a model that it may not use */
  async ready(name: string, model?: string): Promise<ReadyAccount> {
    const entry = this.entries()[name];
    if (entry === undefined)
      throw new FarmError('misconfigured', `This worker has no account ${name}.`, { hint: 'See its worker.yaml.' });
    const provider = this.need.providers.get(entry.provider);
    if (provider === undefined)
      throw new FarmError('misconfigured', `This worker has no provider ${entry.provider}.`, {
        hint: 'Update the worker.',
      });
    if (model !== undefined && entry.models?.includes(model) === false)
      throw new FarmError('misconfigured', `The account ${name} may not use the model that is asked for.`, {
        hint: 'Add it to `models` of the account in worker.yaml, or name another account.',
      });
    const [program, ...rest] = entry.command ?? [entry.program];
    return {
      provider,
      account: await this.sessionAccount(name, entry),
      ...(program === undefined ? {} : { program }),
      ...(rest.length === 0 ? {} : { arguments: rest.filter((word) => word !== undefined) }),
    };
  }

  private async sessionAccount(name: string, entry: AccountEntry): Promise<SessionAccount> {
    const { home, environment } = this.need;
    const wanted = wants[entry.provider];
    const key = entry.key === undefined ? undefined : await readKey(home, entry.key, environment);
    const keyName = entry.key?.name ?? wanted?.key;
    if (key !== undefined && keyName === undefined)
      throw new FarmError('misconfigured', `The key of the account ${name} has no name.`, {
        hint: 'Name the variable in which its program wants it: `key: {file: …, name: …}`.',
      });
    return {
      name,
      environment: {
        ...(entry.login === undefined || wanted === undefined ? {} : { [wanted.login]: pathIn(home, entry.login) }),
        ...entry.environment,
      },
      secrets: key === undefined || keyName === undefined ? {} : { [keyName]: key },
      ...(entry.upstream === undefined ? {} : { upstream: entry.upstream }),
      ...(entry.provider === 'acp' ? agentSettings(home, entry) : {}),
      billing: billingOf(entry),
    };
  }

  /** Of the file, and for each provider that it does not name the login of this machine's owner. */
  private entries(): Readonly<Record<string, AccountEntry>> {
    if (this.blank) return {};
    const { accounts } = this.file;
    const named = new Set<string>(Object.values(accounts).map(({ provider }) => provider));
    const own = [...this.need.providers.keys()].filter((provider) => provider !== builtIn && !named.has(provider));
    return { ...accounts, ...Object.fromEntries(own.flatMap((provider) => this.ownLogin(provider))) };
  }

  private ownLogin(provider: string): [string, AccountEntry][] {
    const { host, environment } = this.need;
    const name = Label.safeParse(
      `${provider}.${host.toLowerCase().replaceAll(/[^a-z0-9.-]+/g, '-')}`.slice(0, 64),
    ).data;
    if (name === undefined || (provider !== 'claude' && provider !== 'codex')) return [];
    const login =
      provider === 'claude' ? environment.CLAUDE_CONFIG_DIR : (environment.CODEX_HOME ?? join(homedir(), '.codex'));
    const entry = {
      provider,
      environment: {},
      use: 'any',
      failover: [],
      ...(login === undefined ? {} : { login }),
    } as const;
    return [[name, { ...entry, failover: [] }]];
  }
}

/** Of an agent that we know nothing of what its owner says. */
function agentSettings(
  home: string,
  { login, key, upstream_name, hosts }: AccountEntry,
): Pick<SessionAccount, 'agent'> {
  const { header, prefix } = key ?? {};
  return {
    agent: {
      ...(login === undefined ? {} : { folder: pathIn(home, login) }),
      ...(upstream_name === undefined ? {} : { upstreamName: upstream_name }),
      ...(header === undefined ? {} : { keyHeader: { name: header, ...(prefix === undefined ? {} : { prefix }) } }),
      hosts: hosts ?? [],
    },
  };
}

function refusal(name: string, { provider, key }: AccountEntry): Extract<Availability, { usable: false }> {
  const fix =
    key === undefined && (provider === 'claude' || provider === 'codex')
      ? `Log in again on that machine: longshore worker login ${provider} ${name}`
      : `Put one that holds where worker.yaml of that machine says, then try it there: longshore provider check ${name}`;
  return { usable: false, code: 'auth', reason: `Its provider refused the ${key ? 'key' : 'login'}.`, fix };
}

function billingOf({ billing, key }: AccountEntry): SessionAccount['billing'] {
  return billing ?? (key === undefined ? 'plan' : 'metered');
}

function offerOf(name: string, entry: AccountEntry, found: Availability): AccountOffer {
  const { provider, use, failover } = entry;
  const lacks = found.usable ? undefined : `${found.reason} ${found.fix}`.slice(0, 500);
  return {
    name,
    provider,
    usable: found.usable,
    ...(lacks === undefined ? {} : { reason: lacks }),
    billing: billingOf(entry),
    use,
    failover: [...failover],
  };
}
