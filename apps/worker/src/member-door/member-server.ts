import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { FarmError } from '#contracts';
import { faultOf, type Log } from '../log.js';
import type { MemberCalls } from './member-calls.js';
import { memberContracts, toolsOf } from './member-tools.js';

/** What the door asks of the calls behind it. */
export type DoorCalls = Pick<MemberCalls, 'call' | 'exposure'>;

/** The MCP side of the door: the SDK's low-level server, because `McpServer` echoes names and thrown messages. */
export function memberServer(calls: DoorCalls, log: Log): Server {
  const tools = toolsOf(calls.exposure);
  const offered = new Set(tools.map(({ name }) => name));
  const server = new Server({ name: 'longshore', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map((tool) => ({ ...tool })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }): Promise<CallToolResult> => {
    try {
      // A name that was guessed is answered like one that is not there (I20).
      if (!offered.has(params.name)) throw new FarmError('not_available', 'There is no such tool here.');
      return told(await calls.call(params.name, params.arguments ?? {}));
    } catch (error) {
      const refusal = error instanceof FarmError ? error : new FarmError('internal');
      log.info(
        { operation: memberContracts.has(params.name) ? params.name : 'unknown', fault: faultOf(error) },
        'a member call was refused',
      );
      return { ...told(problemOf(refusal)), isError: true };
    }
  });
  return server;
}

function told(value: unknown): CallToolResult {
  const text = JSON.stringify(value);
  const structured = isRecord(value) ? { structuredContent: value } : {};
  return { content: [{ type: 'text', text }], ...structured };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function problemOf(error: FarmError): Record<string, unknown> {
  const { code, detail, hint, fields } = error;
  return { code, detail, ...(hint === undefined ? {} : { hint }), ...(fields === undefined ? {} : { fields }) };
}
