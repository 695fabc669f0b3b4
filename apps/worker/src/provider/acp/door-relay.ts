import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { McpServer } from '@agentclientprotocol/sdk';
import { childMain, packageOf } from '../../process/child-main.js';
import type { SessionRequest } from '../port.js';

/**
 * The member door as a program that the agent starts, which is the one kind of MCP server that every ACP agent takes. An agent may
 * put what it is told of a server into arguments of its own programs, which everybody on the machine can read: so it is told a
 * file's name, and the token stands in that file, of mode 0600 beside the workspace, as long as the session lives (H22, H34).
 */
export class DoorRelay {
  private constructor(private readonly file: string) {}

  static async lay({
    memberDoor,
    stateFolder,
  }: Pick<SessionRequest, 'memberDoor' | 'stateFolder'>): Promise<DoorRelay> {
    const file = join(stateFolder, `member-door-${randomUUID()}.json`);
    const { url, token } = memberDoor;
    await writeFile(file, JSON.stringify({ url, token }), { mode: 0o600, flag: 'wx' });
    return new DoorRelay(file);
  }

  get server(): McpServer {
    return { name: 'longshore', command: process.execPath, args: [relayMain(), this.file], env: [] };
  }

  remove(): Promise<void> {
    return rm(this.file, { force: true });
  }
}

/** What the relay loads, for a sandbox. */
export function relayFiles(): readonly string[] {
  const main = relayMain();
  // beside dist: says that the relay is a module
  return [main, join(packageOf(main), 'package.json')];
}

const relayMain = (): string => childMain(import.meta.url, './door-relay-main.js');
