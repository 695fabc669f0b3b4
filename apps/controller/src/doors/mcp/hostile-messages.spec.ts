import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aController } from '../../../../../test/support/a-controller.js';
import { assistantToken, postMessage } from '../../../../../test/support/mcp-client.js';

const text = (value: unknown): string => JSON.stringify(value) ?? '';

/** JSON-RPC has the caller's own id in its answer. */
const withoutId = (answer: string): string =>
  text(JSON.parse(answer === '' ? '{}' : answer, (key, value: unknown) => (key === 'id' ? null : value)));

it('anything at all gets an answer that is no fault of ours and quotes nothing', async () => {
  const farm = await aController({ api: { mcpEnabled: true, mcpMaxResultBytes: 256_000 } });
  const url = `${farm.url}/mcp`;
  const token = assistantToken(farm, farm.admin.id);
  const canary = 'S3CRET';
  const leaf = fc.oneof(fc.constant(canary), fc.string(), fc.integer(), fc.constantFrom(null, true, [], {}));
  const member = fc.constantFrom(
    'jsonrpc',
    'id',
    'method',
    'params',
    '_meta',
    'name',
    'arguments',
    '__proto__',
    canary,
  );
  const method = fc.constantFrom('tools/call', 'tools/list', 'initialize', 'server/discover', 'ping', canary, 7, null);
  const object = fc.dictionary(member, leaf);
  const meta = fc.oneof(leaf, fc.record({ 'io.modelcontextprotocol/protocolVersion': leaf, canary: leaf }));
  const message = fc.record(
    {
      jsonrpc: fc.oneof(fc.constant('2.0'), leaf),
      id: fc.oneof(fc.integer(), fc.constantFrom('a', null, {})),
      method,
      params: fc.oneof(leaf, object, fc.record({ name: leaf, arguments: fc.oneof(leaf, object), _meta: meta })),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(fc.string(), leaf.map(text), object.map(text), message.map(text), fc.array(message).map(text));
  const version = fc.constantFrom('2026-07-28', '2025-11-25', '2099-01-01', canary);
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.option(version),
      fc.option(fc.constantFrom('tools/call', canary)),
      async (given, ...said) => {
        const [revision, named] = said;
        const answer = await postMessage(url, token, given, {
          ...(revision !== null && { 'mcp-protocol-version': revision }),
          ...(named !== null && { 'mcp-method': named }),
        });
        expect(answer.status).toBeGreaterThanOrEqual(200);
        expect(answer.status).toBeLessThan(500);
        expect(withoutId(answer.text)).not.toContain(canary);
        if (answer.status !== 202) expect(answer.body).toMatchObject({ jsonrpc: '2.0' });
      },
    ),
    { numRuns: 400 },
  );
  expect(farm.logged.filter((line) => line.includes(canary))).toEqual([]);
});
