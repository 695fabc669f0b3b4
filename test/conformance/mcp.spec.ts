import { createServer, request } from 'node:http';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execa } from 'execa';
import { aController } from '../support/a-controller.js';
import { assistantToken } from '../support/mcp-client.js';
import { tempDir } from '../support/temp-dir.js';

const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');

/** Scenarios of the official suite that ask for nothing but a server of tools. */
const asked = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

/** The rest of its scenarios want what this server does not have: by what their names begin with, and why. */
const skipped: Readonly<Record<string, string>> = {
  'tools-call-': 'wants tools of the suite that answer images, logs, samplings',
  'json-schema-2020-12': 'wants a tool of the suite',
  'elicitation-': 'wants a tool of the suite',
  'resources-': 'there are no resources',
  'prompts-': 'there are no prompts',
  'logging-': 'there is no logging',
  'completion-': 'there are no completions',
  'server-sse-': 'there are no streams',
};

let url: string;
let close: () => void;

beforeAll(async () => {
  const farm = await aController({ api: { mcpEnabled: true, mcpMaxResultBytes: 256_000 } });
  const authorization = `Bearer ${assistantToken(farm, farm.admin.id)}`;
  // The suite shows no token: somebody before the door does it for it, and passes the rest on as it is.
  const before = createServer((asking, answering) => {
    const { method = 'GET', url: path = '/', headers } = asking;
    const onward = request(`${farm.url}${path}`, { method, headers: { ...headers, authorization } }, (answer) => {
      answering.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(answering);
    });
    onward.once('error', () => answering.destroy());
    asking.pipe(onward);
  });
  await new Promise<void>((resolve) => before.listen(0, '127.0.0.1', resolve));
  const address = before.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  url = `http://127.0.0.1:${address.port}/mcp`;
  close = () => {
    before.close();
    before.closeAllConnections();
  };
});
afterAll(() => close());

describe('the official conformance suite', () => {
  it.each(asked)('%s passes', async (scenario) => {
    const { exitCode, all } = await conformance(
      'server',
      '--url',
      url,
      '--scenario',
      scenario,
      '-o',
      tempDir('conformance'),
    );
    expect([exitCode, exitCode === 0 ? '' : all]).toEqual([0, '']);
  });

  it('has no scenario that is neither asked nor skipped for a reason', async () => {
    const { all = '' } = await conformance('list', '--server');
    const scenarios = [...all.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
    const rest = scenarios.filter((name) => !asked.includes(name));
    const reasons = rest.map((name) => {
      const [, reason] = Object.entries(skipped).find(([prefix]) => name.startsWith(prefix)) ?? [];
      return { name, reason };
    });
    expect(scenarios).toEqual(expect.arrayContaining(asked));
    expect(reasons.filter(({ reason }) => reason === undefined)).toEqual([]);
    process.stdout.write(reasons.map(({ name, reason }) => `conformance: ${name} skipped: ${reason}\n`).join(''));
  });
});

function conformance(...words: readonly string[]) {
  return execa(process.execPath, [program, ...words], { all: true, reject: false, timeout: 60_000 });
}
