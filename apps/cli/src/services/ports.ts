import { createServer } from 'node:net';
import { FarmError } from '#contracts';

/** A loopback TCP port that was free a moment ago: whoever uses it must be ready to ask again. */
export async function freePort(): Promise<number> {
  return await bindOnce(0);
}

/** FarmError port_taken, naming the port and the way out, when something listens on this loopback port. */
export async function requireFreePort(port: number, what: string): Promise<void> {
  try {
    await bindOnce(port);
  } catch (error) {
    throw portTaken(port, what, error);
  }
}

export function portTaken(port: number, what: string, cause?: unknown): FarmError {
  return new FarmError('port_taken', `Port ${port}, asked for ${what}, is used by another program.`, {
    hint: `End that program (\`ss -ltnp 'sport = :${port}'\` names it) or ask for another port; port 0 takes a free one.`,
    cause,
  });
}

function bindOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port);
        else reject(new Error('no address'));
      });
    });
  });
}
