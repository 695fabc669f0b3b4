/**
 * The first program inside a sandbox: listens on its loopback, passes each connection on to a unix socket that was laid in, and
 * runs the session's command. It holds no secret; whoever ends it ends the sandbox. Only Node's own modules.
 *
 *   argv: `<port>=<socket>` …, `--`, the command
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

function relay(port: number, socket: string): Promise<void> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const onward = connect({ path: socket, allowHalfOpen: true });
    for (const [one, other] of [
      [client, onward],
      [onward, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.pipe(other);
    }
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
}

const given = process.argv.slice(2);
const end = given.indexOf('--');
const [file = '', ...args] = given.slice(end + 1);

/** Whether anything of the session lives beside the sandbox's own first process and this one. */
function isAlone(): boolean {
  const others = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && !['1', String(process.pid)].includes(name),
  );
  return !others.some(runs);
}

function runs(pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return false;
  }
}

/** With the end of this process everything inside ends: who was told to end has the rest of the grace before that (P4). */
function leave(code: number): void {
  if (!told || isAlone()) process.exit(code);
  setTimeout(() => leave(code), 20);
}

// The guardian tells every process of the tree itself; this one stays until its command is gone.
let told = false;
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => {
    told = true;
  });
}

for (const wish of given.slice(0, end)) {
  const at = wish.indexOf('=');
  await relay(Number(wish.slice(0, at)), wish.slice(at + 1));
}
const child = spawn(file, args, { stdio: 'inherit' });
child.once('error', () => process.exit(127));
child.once('exit', (code, signal) => {
  told ||= signal === 'SIGTERM';
  leave(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
});
