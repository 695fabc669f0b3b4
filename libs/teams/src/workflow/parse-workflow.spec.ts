import { describe, expect, it } from '@jest/globals';
import { parseWorkflow } from './parse-workflow.js';

const minimal = `kind: workflow
id: solo
description: One member
lead:
  id: lead
`;

function issuesOf(text: string) {
  const parsed = parseWorkflow(text);
  return parsed.ok ? [] : parsed.issues;
}

describe('a workflow document', () => {
  it('is read from YAML and from JSON to the same document', () => {
    const json = JSON.stringify({ kind: 'workflow', id: 'solo', description: 'One member', lead: { id: 'lead' } });
    expect(parseWorkflow(minimal)).toMatchObject({ ok: true });
    expect(parseWorkflow(json)).toEqual(parseWorkflow(minimal));
  });

  it('may not ask an ACP agent to be kept from what the repository brings, which nobody can promise', () => {
    const of = (kind: string) => issuesOf(`${minimal}  provider: { kind: ${kind}, extension_mode: isolated }\n`);
    expect(of('claude')).toEqual([]);
    expect(JSON.stringify(of('acp'))).toContain('can not be kept from');
  });

  it('has its line ends made LF and its prose kept otherwise', () => {
    const parsed = parseWorkflow(
      JSON.stringify({ kind: 'workflow', id: 'a', description: ' x\r\ny\rz ', lead: { id: 'lead' } }),
    );
    expect(parsed).toMatchObject({ ok: true, document: { description: ' x\ny\nz ' } });
  });

  it('is refused with all that is wrong at once, each at its line and column', () => {
    const issues = issuesOf(`kind: workflow
id: Not An Id
description: "  "
colour: red
lead:
  id: lead
  provider:
    kind: claude
    sandbox: {mode: read_only, network: allow}
    effort: none
  children:
    - id: helper
      instructon: typo
    - id: helper
    - title: no id
`);
    expect(issues.map(({ line, path }) => [line, path])).toEqual([
      [2, '/id'],
      [3, '/description'],
      [4, '/colour'],
      [9, '/lead/provider/sandbox'],
      [10, '/lead/provider/effort'],
      [13, '/lead/children/0/instructon'],
      [14, '/lead/children/1/id'],
      [15, '/lead/children/2/id'],
    ]);
    expect(issues[5]).toMatchObject({ column: 7, message: 'This key does not exist here.' });
    expect(issues[6]?.message).toBe('Two members have this id.');
    expect(issues[7]?.message).toBe('Is missing.');
  });

  it.each([
    ['text that is no YAML', 'kind: [workflow', 1],
    ['plain text', 'just some words', 1],
    ['a tab for indentation', 'kind: workflow\nlead:\n\tid: lead\n', 3],
    ['a key written twice', `${minimal}id: other\n`, 6],
    ['a second document', `${minimal}---\nkind: workflow\n`, 6],
    ['an alias', `${minimal}  title: &t Lead\n  description: *t\n`, 7],
    ['a tag of its own', `${minimal}  title: !secret x\n`, 6],
  ])('is refused, with its line, when it is %s', (_, text, line) => {
    expect(issuesOf(text).map((issue) => issue.line)).toContain(line);
  });

  it('is refused at the alias of a bomb, without the bomb going off', () => {
    const rows = Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}x]`);
    const issues = issuesOf(`a0: &a0 [x]\n${rows.join('\n')}\n`);
    expect(issues[0]).toMatchObject({ line: 2, message: 'Aliases are not taken: write the value out.' });
  });

  it.each([
    ['brackets', '['.repeat(1024 * 1024)],
    ['braces', '{a: '.repeat(200_000)],
    ['dashes', '- '.repeat(500_000)],
    ['question marks', '? '.repeat(500_000)],
    ['indentation', Array.from({ length: 1000 }, (_, n) => `${' '.repeat(n)}a:\n`).join('')],
    ['keys', 'a:\n'.repeat(340_000)],
  ])('is refused before anything is built of a megabyte of %s', (_, text) => {
    expect(issuesOf(text)).toHaveLength(1);
  });

  it('N1 is taken at 1 MiB, 4,096 nodes and 32 levels, and refused over them', () => {
    const padded = (bytes: number) => `${minimal}# ${'x'.repeat(bytes - minimal.length - 2)}`;
    expect(issuesOf(padded(1024 * 1024))).toEqual([]);
    expect(issuesOf(padded(1024 * 1024 + 1))).toMatchObject([{ message: 'The document is over 1 MiB.' }]);
    const messages = (text: string) => issuesOf(text).map(({ message }) => message);
    const list = (nodes: number) => `[${Array.from({ length: nodes - 1 }, () => 'x').join(', ')}]`;
    expect(messages(list(4096))).not.toContain('More than 4096 nodes.');
    expect(messages(list(4097))).toEqual(['More than 4096 nodes.']);
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect(messages(nested(32))).not.toContain('Nested more than 32 deep.');
    expect(messages(nested(33))).toEqual(['Nested more than 32 deep.']);
    const deep = Array.from({ length: 40 }, (_, n) => `${' '.repeat(n)}a:`).join('\n');
    expect(issuesOf(deep).map((issue) => issue.message)).toContain('Nested more than 32 deep.');
  });

  it('N1 has at most 256 members, 12 below one another, 32 direct children', () => {
    const member = (id: string, children: unknown[] = []) => ({ id, ...(children.length > 0 && { children }) });
    const doc = (lead: unknown) => JSON.stringify({ kind: 'workflow', id: 'w', description: 'd', lead }, null, 1);
    const branches = (rows: number, each: number) =>
      Array.from({ length: rows }, (_, a) =>
        member(
          `a${a}`,
          Array.from({ length: each }, (_, b) => member(`a${a}-b${b}`)),
        ),
      );
    expect(issuesOf(doc(member('lead', branches(15, 16))))).toEqual([]);
    expect(issuesOf(doc(member('lead', branches(16, 15))))).toHaveLength(1);
    expect(issuesOf(doc(member('lead', branches(32, 0))))).toEqual([]);
    expect(issuesOf(doc(member('lead', branches(33, 0))))).toMatchObject([{ path: '/lead/children' }]);
    const chain = (depth: number): unknown => member(`m${depth}`, depth > 1 ? [chain(depth - 1)] : []);
    expect(issuesOf(doc(chain(12)))).toEqual([]);
    expect(issuesOf(doc(chain(13)))).toMatchObject([{ message: 'A team is at most 12 members deep.' }]);
  });

  it('is refused by name for what no row and no prompt can hold', () => {
    const doc = (description: string) =>
      JSON.stringify({ kind: 'workflow', id: 'w', description, lead: { id: 'lead' } });
    expect(issuesOf(doc('a\u0000b'))).toMatchObject([{ path: '/description' }]);
    expect(issuesOf(doc('a\u0007b'))).toMatchObject([{ path: '/description' }]);
    expect(issuesOf('kind: workflow\nid: w\ndescription: "\\0"\nlead: {id: lead}\n')).toMatchObject([{ line: 3 }]);
  });
});
