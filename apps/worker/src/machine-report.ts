import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { WorkerReport } from '#contracts';
import type { Accounts } from './accounts/accounts.js';
import { faultOf, type Log } from './log.js';
import type { Provider } from './provider/port.js';

interface ReportNeeds {
  /** As the farm fixed them at enrolment: a worker may only drop some (H26). */
  readonly enrolledLabels: readonly string[];
  readonly slots: number;
  readonly host: string;
  readonly gitVersion: string;
  readonly busy: () => number;
  /** Why no new work is taken now. */
  readonly refuses?: () => string | undefined;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly accounts: Pick<Accounts, 'offers' | 'look' | 'trouble'>;
  /** Rungs of the sandbox that a job may ask for here. */
  readonly rungs: readonly string[];
  readonly log: Log;
}

/** What this machine says of itself with each beat. */
export class MachineReport {
  private unusable: ReadonlySet<string> = new Set();

  constructor(private readonly needs: ReportNeeds) {}

  now(): WorkerReport {
    const { slots, busy, host, gitVersion, accounts } = this.needs;
    const refuses = this.needs.refuses?.() ?? cutTo(256, accounts.trouble);
    return {
      slots,
      busy: busy(),
      labels: this.labels(),
      accounts: [...accounts.offers],
      versions: { longshore: ownVersion, node: process.versions.node, git: gitVersion },
      load: loadavg()[0] ?? 0,
      host,
      ...(refuses === undefined ? {} : { refuses }),
    };
  }

  /** Looks which providers can be used now. */
  async look(): Promise<void> {
    await this.needs.accounts.look();
    const found = await Promise.all([...this.needs.providers.values()].map((provider) => this.isUsable(provider)));
    this.unusable = new Set(found.flatMap(({ name, usable }) => (usable ? [] : [name])));
  }

  private async isUsable(provider: Provider): Promise<{ readonly name: string; readonly usable: boolean }> {
    const { name } = provider;
    try {
      return { name, usable: (await provider.availability()).usable };
    } catch (error) {
      this.needs.log.warn({ provider: name, fault: faultOf(error) }, 'a provider could not be looked at');
      return { name, usable: false };
    }
  }

  /** The enrolled labels that hold on this machine; none is ever added. */
  private labels(): string[] {
    return this.needs.enrolledLabels.filter((label) => {
      const [kind, value = ''] = splitLabel(label);
      if (kind === 'os') return value === process.platform || (value === 'macos' && process.platform === 'darwin');
      if (kind === 'arch') return value === process.arch || value === archNames[process.arch];
      if (kind === 'sandbox') return this.needs.rungs.includes(value);
      if (kind === 'provider') return this.needs.providers.has(value) && !this.unusable.has(value);
      return true;
    });
  }
}

function cutTo(length: number, text: string | undefined): string | undefined {
  return text === undefined || text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const archNames: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'aarch64' };

function splitLabel(label: string): readonly [string, string?] {
  const at = label.indexOf(':');
  return at < 0 ? [label] : [label.slice(0, at), label.slice(at + 1)];
}

const ownVersion = versionOf(import.meta.dirname);

/** The nearest package.json above: the same for the source and for dist. */
function versionOf(folder: string): string {
  for (let at = folder; at !== '/' && at !== '.'; at = at.slice(0, at.lastIndexOf('/')) || '/') {
    try {
      const content: unknown = JSON.parse(readFileSync(`${at}/package.json`, 'utf8'));
      if (typeof content === 'object' && content !== null && 'version' in content) return String(content.version);
    } catch {
      // not here
    }
  }
  return 'unknown';
}
