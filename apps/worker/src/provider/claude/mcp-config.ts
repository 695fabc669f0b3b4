import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { lookBeneath } from '../../workspace/beneath.js';
import type { SessionRequest } from '../port.js';

const RepositoryServers = z.looseObject({
  mcpServers: z.record(z.string().regex(/^[\w.-]{1,64}$/), z.record(z.string(), z.unknown())),
});

const largestFile = 256 * 1024;

/**
 * Writes the MCP servers of a session to a file of mode 0600 in its state folder: the member door, and those of the repository's
 * `.mcp.json` where its instructions are read. Answers its path; it holds a secret and is to be removed once it was read (H34).
 */
export async function writeMcpFile(request: SessionRequest): Promise<string> {
  const { memberDoor, stateFolder, repositoryInstructions, workspace } = request;
  const repository = repositoryInstructions ? await repositoryServers(workspace) : {};
  const longshore = {
    type: 'http',
    url: memberDoor.url,
    headers: { Authorization: `Bearer ${memberDoor.token}` },
  };
  const path = join(stateFolder, `claude-mcp-${randomUUID()}.json`);
  await writeFile(path, JSON.stringify({ mcpServers: { ...repository, longshore } }), { mode: 0o600, flag: 'wx' });
  return path;
}

/** The agent wrote the workspace: only a regular file there is read, and no name that could pass for the farm's. */
async function repositoryServers(workspace: string): Promise<Readonly<Record<string, unknown>>> {
  const found = await lookBeneath(workspace, '.mcp.json');
  if (found?.isFile() !== true || found.size > largestFile) return {};
  const text = await readRegular(join(workspace, '.mcp.json'));
  const servers = parsed(text)?.mcpServers ?? {};
  return Object.fromEntries(Object.entries(servers).filter(([name]) => !/^longshore/i.test(name)));
}

async function readRegular(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    return size > largestFile ? '' : await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function parsed(text: string): z.output<typeof RepositoryServers> | undefined {
  try {
    const content: unknown = JSON.parse(text);
    return RepositoryServers.safeParse(content).data;
  } catch {
    return undefined;
  }
}
