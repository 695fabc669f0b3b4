import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { execa } from 'execa';
import { serviceTokenCreate } from '#contracts';
import { aController, type TestController } from '../support/a-controller.js';
import { runCli } from '../support/answering-farm.js';
import { ModelServer } from '../support/model-server/model-server.js';

/** The variable that the snippets name. */
export const tokenVariable = 'LONGSHORE_MCP_TOKEN';

/** A farm whose door for assistants is open, a token for it, and a scripted model. */
export interface McpStage {
  readonly farm: TestController;
  readonly model: ModelServer;
  readonly token: string;
}

export function mcpStage(): McpStage {
  let farm: TestController;
  let model: ModelServer;
  let token: string;
  beforeAll(async () => {
    farm = await aController({ api: { mcpEnabled: true } });
    model = await ModelServer.start();
    const made = await farm.admin.call(
      serviceTokenCreate,
      { name: 'assistant', role: 'operator', audience: 'mcp' },
      { confirm: true },
    );
    token = made.token;
  });
  afterAll(() => model.close());
  return {
    get farm() {
      return farm;
    },
    get model() {
      return model;
    },
    get token() {
      return token;
    },
  };
}

/** What `longshore mcp snippet` prints for this client. */
export async function snippetFor(client: string, { farm }: McpStage): Promise<string> {
  const { stdout } = await runCli(['mcp', 'snippet', client], {
    env: { LONGSHORE_CREDENTIAL: join(farm.data, 'credential.json') },
  });
  return stdout;
}

/** Runs an agent's program to its end: the prompt by stdin, an environment of its own. */
export async function runAgent(
  program: string,
  words: readonly string[],
  { prompt, cwd, env }: { prompt: string; cwd: string; env: Readonly<Record<string, string>> },
): Promise<string> {
  const { PATH = '' } = process.env;
  const ran = await execa(program, words, {
    cwd,
    env: { PATH, ...env },
    extendEnv: false,
    input: prompt,
    timeout: 120_000,
  });
  return ran.stdout;
}
