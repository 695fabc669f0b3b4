import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { agentCreate, CredentialFile, exposureSet, grantAdd } from '#contracts';
import { openFarmKeys } from '../../libs/gate/src/keys/farm-keys.js';
import { TokenIssuer } from '../../libs/gate/src/tokens/token-issuer.js';
import { personKind } from '../../libs/gate/src/tokens/token-kinds.js';
import { type Answer, callerWith, personToken, type TestCaller } from './a-controller.js';
import { Farm } from './farm.js';
import { agentToken, postMessage, toolResultOf } from './mcp-client.js';
import { legacy, modern } from './mcp-messages.js';
import { aRoundRobin, type RoundRobin } from './round-robin.js';

/** Somebody at an MCP door, who may ask any controller. */
export interface McpCaller {
  readonly token: string;
  /** The whole exchange, by the proxy where nothing else is said. */
  ask(name: unknown, input?: unknown, more?: { readonly at?: string; readonly legacy?: boolean }): Promise<Answer>;
  /** What the tool answered, by whatever kind. */
  call(name: string, input?: object, at?: string): Promise<Readonly<Record<string, unknown>>>;
  propose(name: string, input?: object, at?: string): Promise<Proposed>;
  /** Names of the tools that it is shown. */
  tools(more?: { readonly legacy?: boolean }): Promise<readonly z.output<typeof Tool>[]>;
}

export interface FleetAgent extends McpCaller {
  readonly id: string;
}

const Tool = z.looseObject({
  name: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
  outputSchema: z.record(z.string(), z.unknown()),
});
const Listed = z.object({ result: z.looseObject({ tools: z.array(Tool) }) });
const Proposed = z.looseObject({
  summary: z.string(),
  changes: z.array(z.object({ id: z.string(), before: z.unknown(), after: z.unknown() })),
  count: z.int(),
  confirmation_token: z.string(),
});
export type Proposed = z.output<typeof Proposed>;

/** Three controllers as processes behind a proxy that asks each in turn, and who speaks to them. */
export interface Fleet {
  readonly farm: Farm;
  readonly proxy: RoundRobin;
  /** The first admin at the command line, by the proxy. */
  readonly admin: TestCaller;
  /** That admin's assistant at /mcp. */
  readonly assistant: McpCaller;
  /** An agent with these grants; what they name is turned on, unless it is to stay as it is. */
  anAgent(name: string, targets?: readonly string[], more?: { readonly turnsOn?: boolean }): Promise<FleetAgent>;
  /** Everything that its controllers logged, all three. */
  logged(): Promise<string>;
  /** Kills all controllers and starts as many again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** @param configuration text of longshore.toml; without it the assistants' door is open and nothing else is said */
export async function aFleet(configuration = '[api]\nmcp_enabled = true\n'): Promise<Fleet> {
  const proxy = await aRoundRobin();
  const farm = await Farm.start({
    controllers: 3,
    publicUrl: proxy.url,
    configuration,
    // Specs call faster than people do.
    env: { LONGSHORE_CALLS_PER_MINUTE: '0', LONGSHORE_SIGN_INS_PER_MINUTE: '0', LONGSHORE_LOG_LEVEL: 'trace' },
    onControllers: (urls) => proxy.to(urls),
  });
  const credential = CredentialFile.parse(JSON.parse(await readFile(join(farm.data, 'credential.json'), 'utf8')));
  const admin = callerWith(proxy.url, await personToken(proxy.url, credential), credential.principal);
  const { signing } = await openFarmKeys(join(farm.data, 'keys'));
  const issuer = new TokenIssuer(personKind, { keys: signing, issuer: `longshore:${credential.farm_id}` });
  const assistantToken = issuer.mint({ aud: 'mcp', sub: credential.principal, client_id: 'assistant' }, 600);
  return {
    farm,
    proxy,
    admin,
    assistant: callerAt(proxy.url, '/mcp', assistantToken),
    async anAgent(name, targets = [], { turnsOn = true } = {}) {
      const made = await admin.call(agentCreate, { name, kinds: ['mail'] }, { confirm: true });
      for (const target of targets) {
        if (turnsOn) await admin.call(exposureSet, { target, offered: 'on' }, { confirm: true });
        await admin.call(grantAdd, { agent: made.agent_id, target }, { confirm: true });
      }
      return { id: made.agent_id, ...callerAt(proxy.url, '/mcp/agent', await agentToken(proxy, made)) };
    },
    logged: () => readFile(join(farm.data, 'logs/controller.log'), 'utf8'),
    async restart() {
      await farm.killControllers();
      await farm.startControllers();
    },
    async stop() {
      await farm.stop();
      await proxy.close();
    },
  };
}

function callerAt(proxy: string, path: string, token: string): McpCaller {
  const caller: McpCaller = {
    token,
    async ask(name, input = {}, { at = proxy, legacy: isOld = false } = {}) {
      const { headers, body } = (isOld ? legacy : modern)('tools/call', { name, arguments: input });
      return await postMessage(`${at}${path}`, token, body, headers);
    },
    call: async (name, input, at = proxy) => toolResultOf(await caller.ask(name, input, { at })).structuredContent,
    async propose(name, input, at) {
      const answer = await caller.call(name, input, at);
      if (answer.kind !== 'proposal') throw new Error(`no proposal: ${JSON.stringify(answer)}`);
      return Proposed.parse(answer.proposal);
    },
    async tools({ legacy: isOld = false } = {}) {
      const { headers, body } = (isOld ? legacy : modern)('tools/list');
      return Listed.parse((await postMessage(`${proxy}${path}`, token, body, headers)).body).result.tools;
    },
  };
  return caller;
}
