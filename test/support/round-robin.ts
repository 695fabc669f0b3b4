import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Every request goes to the next controller, whoever asks and whatever connection it comes on. */
export interface RoundRobin {
  readonly url: string;
  /** How many requests each has had. */
  readonly served: ReadonlyMap<string, number>;
  /** Whom to ask from now on. */
  to(urls: readonly string[]): void;
  close(): Promise<void>;
}

/** Listens on loopback at once, and has nobody to ask until it is told: controllers want to know its address first. */
export async function aRoundRobin(): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: true });
  const served = new Map<string, number>();
  let targets: readonly string[] = [];
  let turn = 0;
  const server = createServer((asked, answer) => {
    const target = targets[turn % targets.length];
    turn += 1;
    if (target === undefined) return void answer.writeHead(503).end();
    served.set(target, (served.get(target) ?? 0) + 1);
    pass(asked, answer, target, agent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    served,
    to: (urls) => {
      targets = urls;
    },
    async close() {
      server.closeAllConnections();
      agent.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Passes a request on: headers, the Host among them, and bodies as they are. */
export function pass(asked: IncomingMessage, answer: ServerResponse, target: string, agent: Agent): void {
  const { method, url: path, rawHeaders } = asked;
  const { hostname, port } = new URL(target);
  const onward = request({ hostname, port, method, path, headers: rawHeaders, agent }, (answered) => {
    answer.writeHead(answered.statusCode ?? 502, answered.rawHeaders);
    answered.pipe(answer);
  });
  onward.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
  answer.on('close', () => onward.destroy());
  asked.pipe(onward);
}
