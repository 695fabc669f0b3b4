import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventOfExecItem, parseExecLine, usageOfExec } from './exec-events.js';

/** Lines that Codex 0.171.0 wrote. */
const lines = readFileSync(join(import.meta.dirname, 'recorded/exec.jsonl'), 'utf8')
  .trimEnd()
  .split('\n');

describe('lines of codex exec', () => {
  it('come to events; warnings and what is no line of it to none', () => {
    const events = [...lines, 'a stray print', '{"type":"invented"}', '{'].flatMap((text) => {
      const line = parseExecLine(text);
      return line?.type === 'item.started' || line?.type === 'item.completed'
        ? [eventOfExecItem(line.type, line.item) ?? []].flat()
        : [];
    });
    expect(events).toMatchObject([
      { type: 'tool_call', name: 'shell', input: expect.stringContaining('echo hello') },
      { type: 'tool_result', name: 'shell', ok: false, text: 'hello\n' },
      { type: 'tool_call', name: 'longshore.checkpoint', input: '{"summary":"x"}' },
      { type: 'tool_result', name: 'longshore.checkpoint', ok: true },
      { type: 'message', text: 'done' },
    ]);
  });

  it('count from the start of the thread: only the last turn is told', () => {
    const line = parseExecLine(lines.at(-1) ?? '');
    if (line?.type !== 'turn.completed') throw new Error('the last line ends the turn');
    const before = { input_tokens: 200, cached_input_tokens: 80, output_tokens: 14 };
    expect(usageOfExec(line.usage, before, undefined)).toEqual({
      ...{ type: 'usage', requests: 1, input_tokens: 100, output_tokens: 7, cache_read_tokens: 40 },
    });
  });
});
