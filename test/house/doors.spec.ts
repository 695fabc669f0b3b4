import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const sources = (pattern: string) =>
  globSync(pattern, { cwd: root })
    .filter((file) => !file.endsWith('.spec.ts'))
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));

describe('the doors', () => {
  it('A1.2 know no operation and no rule: every call goes by its name through the gate', () => {
    const doors = sources('apps/controller/src/doors/**/*.ts');
    expect(doors.length).toBeGreaterThan(20);
    const imports = doors.flatMap(({ file, text }) =>
      [...text.matchAll(/from '([^']+)'/g)].map(([, from = '']) => ({ file, from })),
    );
    expect(imports.filter(({ from }) => /operations\//.test(from))).toEqual([]);
    const callers = doors.filter(({ text }) => /\bgate\.call\(/.test(text)).map(({ file }) => file);
    expect(callers.map((file) => file.split('/').at(-1)).sort()).toEqual([
      'call-tool.ts',
      'event-routes.ts',
      'link-routes.ts',
      'operation-routes.ts',
    ]);
  });

  it('A5.4 speak MCP by the low-level server: the other one tells hidden tools from absent ones and quotes what it was given', () => {
    const speaking = sources('{apps,libs}/*/src/**/*.ts');
    const code = speaking.map(({ file, text }) => ({ file, text: text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '') }));
    const high = code.filter(({ text }) => /registerTool|new McpServer|server\/mcp(\.js)?'/.test(text));
    expect(high.map(({ file }) => file)).toEqual([]);
  });
});
