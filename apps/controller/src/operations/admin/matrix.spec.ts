import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { agentCreate, serviceTokenCreate } from '#contracts';
import type { Operation, PersonRole } from '#gate';
import { type Answer, aController, codeOf, type TestController } from '../../../../../test/support/a-controller.js';
import { agentToken, postMessage, toolResultOf } from '../../../../../test/support/mcp-client.js';
import { modern } from '../../../../../test/support/mcp-messages.js';
import { aPerson } from '../../../../../test/support/people.js';
import type { Services } from '../../farm.js';
import { operations } from '../catalogue.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController({ api: { mcpEnabled: true } });
});
afterAll(() => farm.close());

/** What every operation refuses at its second step: how far a call came tells who may make it. */
const bad = { SECRET: 1 };
type Call = (name: string) => Promise<Answer>;
type Expected = (operation: Operation<Services>) => string;

const byHttp =
  (token: string): Call =>
  (name) =>
    farm.person(token).ask(name, bad);
const byMcp =
  (path: '/mcp' | '/mcp/agent', token: string): Call =>
  (name) => {
    const { headers, body } = modern('tools/call', { name, arguments: bad });
    return postMessage(`${farm.url}${path}`, token, body, headers);
  };
const hiddenAnswer = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_602, message: 'not available' } });

function outcomeOf(answer: Answer): string {
  if (answer.text === hiddenAnswer) return 'not_available';
  if (answer.text.includes('"jsonrpc"')) {
    if (answer.status !== 200) return String(answer.status);
    return String(toolResultOf(answer).structuredContent.code);
  }
  return codeOf(answer);
}

const roles: readonly PersonRole[] = ['viewer', 'operator', 'admin'];
const isPersons = ({ access }: Operation<Services>) => access.catalogue === 'operator' || access.catalogue === 'admin';
const reaches = (role: PersonRole, { access }: Operation<Services>) =>
  roles.indexOf(role) >= roles.indexOf(access.role);

const toPerson =
  (role: PersonRole): Expected =>
  (operation) => {
    if (!isPersons(operation)) return 'not_available';
    return reaches(role, operation) ? 'invalid_input' : 'not_allowed';
  };
const toAssistant =
  (role: PersonRole): Expected =>
  (operation) =>
    isPersons(operation) && operation.access.ceiling === 'on' && reaches(role, operation)
      ? 'invalid_input'
      : 'not_available';
const toJobs: Expected = ({ access }) => (access.catalogue === 'job' ? 'invalid_input' : 'not_available');
const toNobody =
  (code: string): Expected =>
  () =>
    code;

async function everyCall(call: Call, expected: Expected): Promise<void> {
  const names = operations.map(({ name }) => name);
  const found = await Promise.all(names.map(async (name) => [name, outcomeOf(await call(name))]));
  expect(found).toEqual(operations.map((operation) => [operation.name, expected(operation)]));
}

const serviceOf = async (role: PersonRole, audience: 'cli' | 'mcp') =>
  (await farm.admin.call(serviceTokenCreate, { name: randomUUID(), role, audience })).token;

describe('every operation, by every kind of caller', () => {
  it.each(roles)('by a %s, in person and by a service token: as its role goes, and no machine’s', async (role) => {
    const { id } = await aPerson(farm, role);
    await everyCall(byHttp(farm.controller.services.identity.personToken(id).token), toPerson(role));
    await everyCall(byHttp(await serviceOf(role, 'cli')), toPerson(role));
  });

  it.each(roles)(
    'by the assistant of a %s: what is offered, as the role goes; all else is one answer',
    async (role) => {
      const token = await serviceOf(role, 'mcp');
      await everyCall(byMcp('/mcp', token), toAssistant(role));
      await everyCall(byMcp('/mcp/agent', token), toNobody('401'));
      await everyCall(byHttp(token), toNobody('unauthenticated'));
    },
  );

  it('by an agent without grants: the job protocol at its own door, and nothing at any other', async () => {
    const made = await farm.admin.call(agentCreate, { name: 'Reviewer', kinds: ['review'] });
    const token = await agentToken(farm, made);
    await everyCall(byMcp('/mcp/agent', token), toJobs);
    await everyCall(byMcp('/mcp', token), toNobody('401'));
    await everyCall(byHttp(token), toNobody('unauthenticated'));
  });

  it('by a machine: the job protocol at the door of machines, and nothing at any other', async () => {
    const { token } = await farm.aWorker();
    await everyCall(byHttp(token), toJobs);
    await everyCall(byMcp('/mcp', token), toNobody('401'));
    await everyCall(byMcp('/mcp/agent', token), toNobody('401'));
  });

  it('by somebody with a token of nobody: nothing, and no name is told', async () => {
    await everyCall(byHttp('x'.repeat(43)), toNobody('unauthenticated'));
    await everyCall(byMcp('/mcp', 'x'.repeat(43)), toNobody('401'));
  });
});
