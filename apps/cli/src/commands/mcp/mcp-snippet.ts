import { Argument, type Command } from 'commander';
import { FarmError } from '#contracts';
import { commandAt, type Frame, runs } from '../frame.js';
import { isMcpClient, mcpClients } from './snippets.js';

interface SnippetOptions {
  readonly tokenVariable: string;
}

/** `mcp snippet CLIENT`: what tells an MCP client of this farm. The token is no part of it. */
export function addMcpSnippet(program: Command, frame: Frame): void {
  const command = commandAt(program, ['mcp', 'snippet'])
    .description('What to put into the settings of an MCP client, so that it finds this farm.')
    .addArgument(new Argument('<client>').choices(Object.keys(mcpClients)))
    .option('--token-variable <name>', 'environment variable that holds the token', 'LONGSHORE_MCP_TOKEN');
  runs<SnippetOptions>(command, frame, async (run, { tokenVariable }, [name]) => {
    if (!isMcpClient(name)) throw new FarmError('invalid_input', 'There is no snippet for this client');
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(tokenVariable))
      throw new FarmError('invalid_input', '--token-variable is the name of an environment variable');
    const { screen } = run;
    const client = mcpClients[name];
    const url = `${(await run.client()).url.replace(/\/+$/, '')}/mcp`;
    const snippet = client.snippet(url, tokenVariable);
    screen.answer({ client: name, file: client.file, url, token_variable: tokenVariable, snippet });
    screen.show(snippet);
    screen.say(`This belongs in ${client.file}.`);
    screen.say(`${tokenVariable} holds the token: longshore service-token create <name> --audience mcp shows it once.`);
    screen.say('The farm answers at /mcp when longshore.toml says [api] mcp_enabled = true.');
  });
}
