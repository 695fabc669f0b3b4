import { stringify } from 'smol-toml';

/** An MCP client that reads its servers from a file of its own. */
export interface McpClient {
  /** Where the snippet belongs. */
  readonly file: string;
  /** The snippet: the farm's address, and the name of the variable that holds the token. Never a token. */
  snippet(url: string, variable: string): string;
}

const json = (server: object) => JSON.stringify({ mcpServers: { longshore: server } }, null, 2);

export const mcpClients = {
  claude: {
    file: '.mcp.json in your project',
    snippet: (url, variable) => json({ type: 'http', url, headers: { Authorization: `Bearer \${${variable}}` } }),
  },
  codex: {
    file: '~/.codex/config.toml',
    snippet: (url, variable) =>
      stringify({ mcp_servers: { longshore: { url, bearer_token_env_var: variable } } }).trim(),
  },
  cursor: {
    file: '.cursor/mcp.json in your project, or ~/.cursor/mcp.json',
    snippet: (url, variable) => json({ url, headers: { Authorization: `Bearer \${env:${variable}}` } }),
  },
} satisfies Readonly<Record<string, McpClient>>;

export type McpClientName = keyof typeof mcpClients;

export function isMcpClient(name: string | undefined): name is McpClientName {
  return name !== undefined && Object.hasOwn(mcpClients, name);
}
