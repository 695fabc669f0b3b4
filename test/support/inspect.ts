import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The local addresses that listen on a TCP port, as the kernel lists them: `127.0.0.1`, `0.0.0.0`, or the raw IPv6 hex. */
export function listeningAddresses(port: number): readonly string[] {
  const listening = '0A';
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
    readFileSync(table, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const [, local = '', , state] = line.trim().split(/\s+/);
        const [address = '', hex = ''] = local.split(':');
        return state === listening && Number.parseInt(hex, 16) === port ? [readableAddress(address)] : [];
      }),
  );
}

function readableAddress(hex: string): string {
  if (hex.length !== 8) return hex;
  return [...Buffer.from(hex, 'hex')].reverse().join('.');
}

/** The command lines of all processes that this user may see, for the search of a secret. */
export function allCommandLines(): string {
  return commandLines()
    .map(({ line }) => line)
    .join('\n');
}

/** The pids of processes that were started with this text in their arguments. */
export function processesWith(text: string): readonly number[] {
  return commandLines().flatMap(({ pid, line }) => (line.includes(text) ? [pid] : []));
}

function commandLines(): readonly { readonly pid: number; readonly line: string }[] {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return { pid: Number(pid), line: readFileSync(`/proc/${pid}/cmdline`, 'utf8') };
      } catch {
        return { pid: Number(pid), line: '' };
      }
    });
}

/** Files beneath a folder that somebody else than the owner may read, write or enter. */
export function openToOthers(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isSymbolicLink())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (statSync(path).mode & 0o077) !== 0);
}
