import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { parse } from 'yaml';
import { type WorkflowDocument, workflowDraftCreate, workflowImport, workflowSchema, workflowText } from '#contracts';
import { parseWorkflow } from '../../../../libs/teams/src/workflow/parse-workflow.js';
import { starters } from '../../../../libs/teams/src/workflow/starters.js';
import { aController, type TestController } from '../../../../test/support/a-controller.js';
import { runCli } from '../../../../test/support/answering-farm.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

const cli = (...words: string[]) => runCli(['workflow', ...words], { env: { LONGSHORE_DATA: farm.data } });
const publish = (document: string) => farm.admin.call(workflowImport, { document });

const odd = [
  '',
  ' ',
  '  two\n',
  'x\n\n\n',
  '# no comment',
  '- dash',
  '"',
  "'",
  '\t',
  'a: b',
  '|',
  '\u2028',
  '\u0085',
  'null',
  '1e3',
  '🙂',
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...odd), fc.string({ unit: 'binary', maxLength: 20 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.join('').replace(/\r\n?/g, '\n'));
const member = fc.record({ id: fc.constant('lead'), title: text, instruction: text });

describe('workflow export', () => {
  it('is imported again as the same revision, starters and oddities alike', async () => {
    const { stdout } = await cli('export', 'security-audit-and-hardening');
    expect(stdout.split('\n')[0]).toBe(`# yaml-language-server: $schema=${farm.url}/v1/workflow.schema.json`);
    const description = '  leading\n\n\ttab\u2028line \n';
    await publish(JSON.stringify({ kind: 'workflow', id: 'odd', description, lead: { id: 'lead', children: [] } }));
    await publish(JSON.stringify({ kind: 'workflow', id: 'odd', description: 'other', lead: { id: 'lead' } }));
    const first = await cli('export', 'odd', '--revision', '1');
    expect(await publish(first.stdout)).toMatchObject({ accepted: true, revision_no: 1, created: false });
    const current = await cli('export', 'odd');
    expect(await publish(current.stdout)).toMatchObject({ revision_no: 1, created: false });
  });

  it('writes text of any kind so that it is read the same', () => {
    fc.assert(
      fc.property(text, member, (description, lead) => {
        const read = parseWorkflow(JSON.stringify({ kind: 'workflow', id: 'any', description, lead }));
        fc.pre(read.ok);
        if (read.ok) expect(parseWorkflow(workflowText(read.document))).toEqual(read);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is one line of JSON where indenting would make it too large for an import', () => {
    const instruction = 'x\n'.repeat(8_000);
    const chain = (depth: number): WorkflowDocument['lead'] => ({
      id: `m${depth}`,
      ...(depth < 12 && { children: [chain(depth + 1)] }),
      ...(depth === 12 && { children: Array.from({ length: 2 }, (_, n) => ({ id: `x${n}` })) }),
      instruction,
      description: instruction,
    });
    const document: WorkflowDocument = { kind: 'workflow', id: 'w', description: 'd', lead: chain(1) };
    expect(parse(workflowText(document))).toEqual(document);
    expect(workflowText(document).startsWith('{')).toBe(true);
  });

  it('shows a draft, and refuses a draft and a revision at once', async () => {
    const workflow = { kind: 'workflow', id: 'half', description: 'Half done', lead: { id: 'lead' } };
    await farm.admin.call(workflowDraftCreate, { workflow });
    expect((await cli('export', 'half', '--draft')).stdout).toContain('description: Half done\n');
    expect((await cli('export', 'half')).exit).toBe(3);
    expect((await cli('export', 'half', '--draft', '--revision', '1')).exit).toBe(2);
    expect((await cli('export', 'half', '--revision', 'x')).exit).toBe(2);
  });

  it('names a schema that the farm serves to anybody, and that the command line prints', async () => {
    const served = await farm.fetch('/v1/workflow.schema.json');
    expect([served.status, served.headers.get('content-type')]).toEqual([
      200,
      'application/schema+json; charset=utf-8',
    ]);
    expect(served.body).toEqual(workflowSchema());
    expect(JSON.parse((await cli('schema')).stdout)).toEqual(workflowSchema());
  });
});

describe('the schema of workflows', () => {
  const holds = new Ajv({ strict: true, allErrors: true }).compile(workflowSchema());
  const solo = { kind: 'workflow', id: 'a', description: 'd', lead: { id: 'lead' } };
  const lead = (more: object) => ({ ...solo, lead: { id: 'lead', ...more } });

  it('holds for all starters, and knows each word of the document', () => {
    for (const starter of starters) expect([holds(starter), holds.errors]).toEqual([true, null]);
  });

  it.each([
    ['a word that does not exist', { ...solo, colour: 'red' }],
    ['a missing lead', { kind: 'workflow', id: 'a', description: 'd' }],
    ['an id in capitals', { ...solo, id: 'A' }],
    [
      'a pair of walls that does not exist',
      lead({ provider: { kind: 'claude', sandbox: { mode: 'read_only', network: 'allow' } } }),
    ],
    ['an effort of another provider', lead({ provider: { kind: 'claude', effort: 'none' } })],
    ['an empty block of capabilities', lead({ capabilities: {} })],
    ['a fault far below', lead({ children: [{ id: 'a', children: [{ title: 'no id' }] }] })],
  ])('finds %s', (_, document) => {
    expect(holds(document)).toBe(false);
  });
});
