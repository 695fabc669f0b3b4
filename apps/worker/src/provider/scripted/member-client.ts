import { readFile } from 'node:fs/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { MemberDoorFile } from './protocol.js';

export interface MemberAnswer {
  readonly ok: boolean;
  readonly mustStop: boolean;
  /** The answer as JSON text, or what went wrong. */
  readonly text: string;
}

/** Longer than a door may hold a call while the farm is away. */
const callTimeoutMs = 30 * 60_000;

/** The member door, as any MCP client meets it. Connects at the first call. */
export class MemberClient {
  private client: Promise<Client> | undefined;

  private constructor(private readonly door: { readonly url: string; readonly token: string }) {}

  /** Throws where the file is not there or is not what the adapter writes. */
  static async fromFile(file: string): Promise<MemberClient> {
    const content: unknown = JSON.parse(await readFile(file, 'utf8'));
    return new MemberClient(MemberDoorFile.parse(content));
  }

  async call(operation: string, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<MemberAnswer> {
    try {
      this.client ??= this.connect();
      const client = await this.client;
      const result = await client.callTool({ name: operation, arguments: { ...input } }, undefined, {
        signal,
        timeout: callTimeoutMs,
      });
      const structured: unknown = result.structuredContent;
      return {
        ok: result.isError !== true,
        mustStop: saysMustStop(structured),
        text: structured === undefined ? textOf(result.content) : JSON.stringify(structured),
      };
    } catch (error) {
      this.client = undefined;
      return { ok: false, mustStop: false, text: error instanceof Error ? error.message : 'The call failed.' };
    }
  }

  private async connect(): Promise<Client> {
    const client = new Client({ name: 'longshore-scripted', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(this.door.url), {
      requestInit: { headers: { Authorization: `Bearer ${this.door.token}` } },
    });
    // The SDK's own class does not fit its interface under exactOptionalPropertyTypes.
    const connectable: object = transport;
    if (isTransport(connectable)) await client.connect(connectable);
    return client;
  }
}

type Transport = Parameters<Client['connect']>[0];

function isTransport(value: object): value is Transport {
  return 'start' in value && 'send' in value && 'close' in value;
}

function saysMustStop(content: unknown): boolean {
  return typeof content === 'object' && content !== null && 'must_stop' in content && content.must_stop === true;
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((part: unknown) =>
      typeof part === 'object' && part !== null && 'text' in part ? [String(part.text)] : [],
    )
    .join('\n');
}
