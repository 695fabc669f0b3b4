import { afterEach, describe, expect, it } from '@jest/globals';
import { parse } from 'smol-toml';
import { type AnsweringFarm, anAnsweringFarm, runCli } from '../../../../../test/support/answering-farm.js';

let farm: AnsweringFarm | undefined;
afterEach(async () => {
  await farm?.close();
  farm = undefined;
});

async function snippet(...words: readonly string[]) {
  await farm?.close();
  farm = await anAnsweringFarm(() => ({ json: {} }));
  return await runCli(['mcp', 'snippet', ...words], { env: { LONGSHORE_CREDENTIAL: farm.credential } });
}

describe('mcp snippet', () => {
  it('is what each client reads: the address and the name of a variable, never a token', async () => {
    const claude = await snippet('claude');
    const url = `${farm?.url}/mcp`;
    expect(JSON.parse(claude.stdout)).toEqual({
      mcpServers: { longshore: { type: 'http', url, headers: { Authorization: `Bearer \${LONGSHORE_MCP_TOKEN}` } } },
    });
    expect(claude.stderr).toContain('service-token create');
    const cursor = await snippet('cursor', '--token-variable', 'FARM');
    expect(cursor.stdout).toContain(`"Bearer \${env:FARM}"`);
    const codex = await snippet('codex');
    expect(parse(codex.stdout)).toMatchObject({
      mcp_servers: { longshore: { url: `${farm?.url}/mcp`, bearer_token_env_var: 'LONGSHORE_MCP_TOKEN' } },
    });
    expect(farm?.asked).toEqual([]);
  });

  it('knows its clients, and names of variables', async () => {
    expect((await snippet('notepad')).exit).toBe(2);
    expect((await snippet('claude', '--token-variable', 'A}B')).exit).toBe(2);
  });
});
