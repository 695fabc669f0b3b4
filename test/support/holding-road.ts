import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pass } from './round-robin.js';

/** A road to a controller on which a request can be held up: whoever asked stands still at that point of its work. */
export interface HoldingRoad {
  readonly url: string;
  /** The next request for a path that fits is never answered. Resolves when it has come. */
  holdNext(fits: (path: string) => boolean): Promise<void>;
  close(): void;
}

export async function aHoldingRoadTo(target: string): Promise<HoldingRoad> {
  const agent = new Agent();
  let hold: { readonly fits: (path: string) => boolean; readonly come: () => void } | undefined;
  const server = createServer((asked, answer) => {
    const held = hold;
    if (!held?.fits(asked.url ?? '')) return pass(asked, answer, target, agent);
    hold = undefined;
    held.come();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    holdNext: (fits) =>
      new Promise((come) => {
        hold = { fits, come };
      }),
    close() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}
