import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { MemberDoor } from '../../apps/worker/src/provider/port.js';

/** A member door without a farm: a real MCP server on loopback that keeps what it was asked. */
export interface TestDoor extends MemberDoor {
  readonly calls: { readonly name: string; readonly arguments: unknown }[];
  /** How often somebody came with another token than ours. */
  readonly refused: () => number;
  /** Also on this unix socket. */
  serveAt(path: string): Promise<void>;
  leave(path: string): void;
  close(): void;
}

export async function aDoor(): Promise<TestDoor> {
  const token = randomBytes(32).toString('base64url');
  const calls: { name: string; arguments: unknown }[] = [];
  let refused = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.headers.authorization !== `Bearer ${token}`) {
      refused += 1;
      response.writeHead(401).end();
      return;
    }
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const server = new Server({ name: 'longshore', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: ['checkpoint', 'get_current_context'].map((name) => ({
        name,
        description: `Does ${name}.`,
        inputSchema: { type: 'object' as const, properties: {}, additionalProperties: true },
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
      calls.push({ name: params.name, arguments: params.arguments });
      const structuredContent = { must_stop: params.name === 'checkpoint' };
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    });
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    const connectable: object = transport;
    if (isTransport(connectable)) await server.connect(connectable);
    await transport.handleRequest(request, response);
  };
  const http = createServer(answer);
  const servers = new Map([['', http]]);
  const end = (server: HttpServer): void => {
    server.close();
    server.closeAllConnections();
  };
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const address = http.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/_internal/node/mcp`,
    token,
    calls,
    refused: () => refused,
    serveAt: async (path) => {
      const other = createServer(answer);
      servers.set(path, other);
      other.listen(path);
      await once(other, 'listening');
    },
    leave: (path) => {
      const other = servers.get(path);
      if (other !== undefined) end(other);
      servers.delete(path);
    },
    close: () => {
      for (const server of servers.values()) end(server);
    },
  };
}

/** The SDK's class does not fit its own interface under exactOptionalPropertyTypes. */
function isTransport(value: object): value is Parameters<Server['connect']>[0] {
  return 'start' in value && 'send' in value && 'close' in value;
}
