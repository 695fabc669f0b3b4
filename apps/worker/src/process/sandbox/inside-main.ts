/**
 * The first program inside a sandbox without a network: listens on its loopback, passes each connection on to a unix socket that
 * was laid in, and runs the session's command. It holds no secret; whoever ends it ends the sandbox. Only Node's own modules.
 *
 *   argv: `<port>=<socket>` …, `--`, the command
 */
import { spawn } from 'node:child_process';
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

// The guardian tells every process of the tree itself; this one stays until its command is gone.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);

for (const wish of given.slice(0, end)) {
  const at = wish.indexOf('=');
  await relay(Number(wish.slice(0, at)), wish.slice(at + 1));
}
const child = spawn(file, args, { stdio: 'inherit' });
child.once('error', () => process.exit(127));
child.once('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]));
