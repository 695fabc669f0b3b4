/** A place on the network, by the name that was asked for. */
export interface Destination {
  readonly host: string;
  readonly port: number;
}

/** Of an egress list, read. */
interface Entry {
  /** A name, `*.domain` or `*`. */
  readonly host: string;
  /** Undefined: those of the web. */
  readonly port: number | undefined;
}

const webPorts = [80, 443];

/** The hosts that a session may reach, by name: `host`, `host:port`, `*.domain`, `*`. */
export class EgressList {
  private readonly entries: readonly Entry[];

  constructor(hosts: readonly string[]) {
    this.entries = hosts.map(entryOf);
  }

  allows({ host, port }: Destination): boolean {
    const name = plainName(host);
    return this.entries.some((entry) => isNamed(entry.host, name) && isPortOf(entry, port));
  }
}

/** Reads `host:port` and `[v6]:port`; undefined where it is neither. */
export function destinationOf(authority: string | undefined, port?: number): Destination | undefined {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(authority ?? '');
  const host = parts?.[1] ?? parts?.[2];
  const number = parts?.[3] === undefined ? port : Number(parts[3]);
  if (host === undefined || number === undefined || number < 1 || number > 65_535) return undefined;
  return { host: plainName(host), port: number };
}

/** All that the second entry lets through, the first does too. */
export function covers(wide: string, narrow: string): boolean {
  const [one, other] = [entryOf(wide), entryOf(narrow)];
  if (!isNamed(one.host, other.host)) return false;
  return one.port === other.port || (other.port !== undefined && isPortOf(one, other.port));
}

function entryOf(entry: string): Entry {
  const parts = /^(.*?)(?::(\d{1,5}))?$/.exec(entry);
  return { host: plainName(parts?.[1] ?? entry), port: parts?.[2] === undefined ? undefined : Number(parts[2]) };
}

const isPortOf = ({ port: own }: Entry, port: number): boolean =>
  own === undefined ? webPorts.includes(port) : own === port;

function isNamed(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
}

/** As DNS compares: without case and without the root's dot. */
function plainName(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}
