import { appendFile, chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withFolder } from '../folders.js';
import type { GitCall } from '../git.js';

/** What opens a remote. Held by the controller alone; never in argv, a URL or an environment (H30, H22). */
export type RemoteCredential =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly username: string; readonly token: string }
  | { readonly kind: 'ssh_key'; readonly key: string };

/** A repository elsewhere, and the one place where git may look for it. */
export type Remote =
  | {
      readonly protocol: 'https' | 'ssh';
      /** Without credentials. */
      readonly url: string;
      readonly host: string;
      readonly port: number;
      /** Of the host, judged before: git connects to these and asks no name server again (H30). */
      readonly addresses: readonly string[];
      readonly credential: RemoteCredential;
      /** Lines of a known_hosts file. Absent: the keys of the first contact are taken and told. */
      readonly hostKeys?: string;
      /** Certificates to trust beside or in place of the system's. */
      readonly caFile?: string;
    }
  | { readonly protocol: 'file'; readonly path: string };

/** How git is called for one remote. */
export interface RemoteCall {
  readonly url: string;
  readonly call: Pick<GitCall, 'env' | 'config' | 'group' | 'cwd'>;
  /** Host keys that the contact brought to light, as lines of known_hosts. */
  learnedHostKeys(): Promise<string | undefined>;
}

/**
 * Gives git what it needs for one remote, in files of mode 0600 that go when `use` is over.
 *
 * @param scratch an existing private folder
 */
export async function withRemote<T>(
  remote: Remote,
  scratch: string,
  use: (remote: RemoteCall) => Promise<T>,
): Promise<T> {
  return withFolder(scratch, async (folder) => {
    await chmod(folder, 0o700);
    if (remote.protocol === 'file') {
      const config = { 'protocol.file.allow': 'always' };
      return use({ url: remote.path, call: { config, cwd: folder }, learnedHostKeys: async () => undefined });
    }
    return remote.protocol === 'https' ? use(await overHttps(remote, folder)) : use(await overSsh(remote, folder));
  });
}

type NetworkRemote = Exclude<Remote, { protocol: 'file' }>;

async function overHttps(remote: NetworkRemote, folder: string): Promise<RemoteCall> {
  const { host, port, addresses, credential, caFile } = remote;
  const there = addresses.map((address) => (address.includes(':') ? `[${address}]` : address)).join();
  const config: Record<string, string> = {
    'protocol.https.allow': 'always',
    // The name is not asked for again: what was judged is where the connection goes.
    'http.curloptResolve': `${bareName(host)}:${port}:${there}`,
    // Nor is any other place, by a redirect, a proxy of the environment or a file of alternates.
    'http.followRedirects': 'false',
    'http.proxy': '',
    'http.sslVerify': 'true',
    'http.lowSpeedLimit': '1',
    'http.lowSpeedTime': '60',
    'credential.helper': '',
    'credential.interactive': 'false',
    'transfer.bundleURI': 'false',
    ...(caFile !== undefined && { 'http.sslCAInfo': caFile }),
  };
  if (credential.kind === 'token') {
    const origin = `https://${host}${port === 443 ? '' : `:${port}`}`;
    const file = join(folder, 'credentials');
    const login = `${encodeURIComponent(credential.username)}:${encodeURIComponent(credential.token)}`;
    await writePrivate(file, `${origin.replace('https://', `https://${login}@`)}\n`);
    // git asks this file for this origin only: the token is shown to no other host.
    config[`credential.${origin}.helper`] = `store --file=${shellWord(file)}`;
  }
  return {
    url: remote.url,
    call: { config, cwd: folder, group: true },
    learnedHostKeys: async () => undefined,
  };
}

async function overSsh(remote: NetworkRemote, folder: string): Promise<RemoteCall> {
  const { host, port, addresses, credential, hostKeys } = remote;
  const known = join(folder, 'known_hosts');
  await writePrivate(known, hostKeys === undefined ? '' : withFinalNewline(hostKeys));
  const identity = join(folder, 'identity');
  if (credential.kind === 'ssh_key') await writePrivate(identity, withFinalNewline(credential.key));
  const options = {
    BatchMode: 'yes',
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    PreferredAuthentications: 'publickey',
    // ssh takes one; that of the older protocol is the one that every network has
    HostName: addresses.find((address) => !address.includes(':')) ?? addresses[0] ?? '',
    // The key is that of the name which the person gave, at its port.
    HostKeyAlias: knownName(host, port),
    CheckHostIP: 'no',
    UserKnownHostsFile: known,
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: hostKeys === undefined ? 'accept-new' : 'yes',
    UpdateHostKeys: 'no',
    HashKnownHosts: 'no',
    ForwardAgent: 'no',
    ProxyCommand: 'none',
    ProxyJump: 'none',
    PermitLocalCommand: 'no',
    ControlMaster: 'no',
    ControlPath: 'none',
    ConnectTimeout: '20',
    ServerAliveInterval: '20',
    ServerAliveCountMax: '3',
    LogLevel: 'ERROR',
  };
  const words = ['ssh', '-F', '/dev/null', '-a', '-x'];
  if (credential.kind === 'ssh_key') words.push('-i', identity);
  for (const [name, value] of Object.entries(options)) words.push('-o', `${name}=${value}`);
  return {
    url: remote.url,
    call: {
      config: { 'protocol.ssh.allow': 'always' },
      env: { GIT_SSH_COMMAND: words.map(shellWord).join(' '), GIT_SSH_VARIANT: 'ssh' },
      cwd: folder,
      group: true,
    },
    learnedHostKeys: async () =>
      hostKeys === undefined ? (await readFile(known, 'utf8')).trim() || undefined : undefined,
  };
}

/** As known_hosts writes a host at a port. */
export function knownName(host: string, port: number): string {
  const name = bareName(host);
  return port === 22 ? name : `[${name}]:${port}`;
}

const bareName = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

async function writePrivate(path: string, text: string): Promise<void> {
  await writeFile(path, '', { mode: 0o600, flag: 'wx' });
  await appendFile(path, text);
}

const withFinalNewline = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

const shellWord = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
