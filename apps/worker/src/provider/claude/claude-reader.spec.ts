import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ProviderEvent } from '../events.js';
import { ClaudeReader, type ClaudeSign } from './claude-reader.js';

/** Lines that Claude Code 2.1.332 wrote, without its lists of tools and commands. */
const recorded = (name: string): readonly string[] =>
  readFileSync(join(import.meta.dirname, 'recorded', `${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');

interface Circumstances {
  readonly resumed?: boolean;
  readonly interrupted?: boolean;
  readonly goesOn?: boolean;
  readonly now?: number;
}

function read(
  lines: readonly string[],
  { resumed = false, interrupted = false, goesOn = false, now = 0 }: Circumstances = {},
) {
  const reader = new ClaudeReader({
    resumed,
    scrub: (text) => text.replaceAll('secret', '***'),
    interrupted: () => interrupted,
    goesOn: () => goesOn,
    now: () => now,
  });
  const events: ProviderEvent[] = [];
  const signs: ClaudeSign[] = [];
  for (const line of lines) {
    const reading = reader.read(line);
    // what the farm would refuse is no event
    events.push(...reading.events.map((event) => ProviderEvent.parse(event)));
    if (reading.sign !== undefined) signs.push(reading.sign);
  }
  return { events, signs, rest: reader.rest() };
}

const used = (events: readonly ProviderEvent[]) => events.filter((event) => event.type === 'usage');

const answer = (text: string) =>
  JSON.stringify({
    type: 'assistant',
    message: {
      model: 'claude-x',
      content: [
        { type: 'thinking', thinking: '…' },
        { type: 'text', text },
      ],
    },
  });

describe('what Claude Code writes', () => {
  it('becomes a session, its tools under the names of the farm, what it used at which price, and the end of its turn', () => {
    const { events, signs, rest } = read(recorded('turn'));
    expect(events.filter(({ type }) => type !== 'usage')).toMatchObject([
      { type: 'session', ref: expect.stringMatching(/^[\w-]{36}$/) },
      { type: 'tool_call', name: 'Bash', input: expect.stringContaining('env') },
      { type: 'tool_result', name: 'Bash', ok: true },
      { type: 'tool_call', name: 'checkpoint', input: JSON.stringify({ summary: 'done', outcome: 'green' }) },
      { type: 'tool_result', name: 'checkpoint', ok: true, text: '{"must_stop":true}' },
      { type: 'message', text: 'bye' },
      { type: 'turn_end', how: 'finished' },
    ]);
    const request = { type: 'usage', requests: 1, input_tokens: 100, output_tokens: 10, model: 'claude-opus-5-5' };
    const settled = { ...request, requests: 0, input_tokens: 0, output_tokens: 0, pricing: 'settles' };
    const pending = { ...request, pricing: 'pending' };
    expect(used(events)).toEqual([pending, pending, pending, { ...settled, cost_usd: expect.closeTo(0.0018) }]);
    expect(signs.map(({ type }) => type)).toEqual(['begun', 'taken', 'turn_over']);
    expect(rest).toEqual([]);
  });

  it('tells what was used in the middle of a turn when its process is gone', () => {
    const lines = recorded('turn');
    const counted = lines.findIndex((line) => line.includes('"message_delta"'));
    const { events, rest } = read(lines.slice(0, counted + 1));
    expect(used(events)).toEqual([]);
    expect(rest).toMatchObject([
      { type: 'usage', requests: 1, input_tokens: 100, output_tokens: 10, pricing: 'pending' },
      { type: 'usage', requests: 0, pricing: 'settles' },
    ]);
    expect(rest[1]).not.toHaveProperty('cost_usd');
  });

  it('counts a resumed session from where its earlier processes ended', () => {
    const lines = recorded('turn').map((line) => line.replace('"total_cost_usd":0.0018', '"total_cost_usd":7.0018'));
    const again = lines.map((line) => line.replace('"total_cost_usd":7.0018', '"total_cost_usd":7.5018'));
    const told = used(read([...lines, ...again], { resumed: true }).events);
    const settled = told.filter(({ pricing }) => pricing === 'settles');
    expect(told).toHaveLength(8);
    expect(settled[0]).toMatchObject({ input_tokens: 0 });
    expect(settled[0]).not.toHaveProperty('cost_usd');
    expect(settled[1]).toMatchObject({ input_tokens: 0, cost_usd: expect.closeTo(0.5) });
  });

  it('tells what its own helpers used with the turn', () => {
    const lines = recorded('turn').map((line) => line.replace('"inputTokens":300', '"inputTokens":345'));
    expect(used(read(lines).events).at(-1)).toMatchObject({ requests: 0, input_tokens: 45, pricing: 'settles' });
  });

  it('ends no turn that goes on with a message that came late, and tells an interrupted one', () => {
    const lines = recorded('turn');
    expect(read(lines, { goesOn: true }).events.at(-1)?.type).toBe('usage');
    expect(read(lines, { interrupted: true, goesOn: true }).events.at(-1)).toEqual({
      type: 'turn_end',
      how: 'interrupted',
    });
  });

  it('is a login that is missing at the second refusal, before the session began', () => {
    const { events } = read(recorded('auth'));
    expect(events[0]).toMatchObject({ type: 'failed', failure: { class: 'auth' } });
    expect(events.some(({ type }) => type === 'session')).toBe(false);
  });

  it('is a limit with the time at which it ends, in a session that has begun', () => {
    const resets = 1_795_996_120_000;
    const { events } = read(recorded('limit'), { now: resets - 90_000 });
    expect(events).toMatchObject([
      { type: 'session' },
      { type: 'failed', failure: { class: 'rate_limit', retry_after_ms: 90_000 } },
    ]);
  });

  it('is a request that never can run, without the words of the model', () => {
    const { events } = read(recorded('bad'));
    expect(events).toMatchObject([{ type: 'failed', failure: { class: 'invalid' } }]);
    expect(JSON.stringify(events)).not.toContain('The scripted model answers');
  });

  it.each([
    [{ api_error_status: 529 }, 'overload'],
    [{ api_error_status: 500 }, 'overload'],
    [{ api_error_status: 403 }, 'auth'],
    [{ result: 'Not logged in · Please run /login' }, 'auth'],
    [{ result: 'API Error: Unable to connect to API (ECONNREFUSED)' }, 'environment'],
    [{ result: 'Prompt is too long' }, 'invalid'],
    [{ errors: ['No conversation found with session ID: x'] }, 'invalid'],
    [{ subtype: 'error_during_execution' }, 'crash'],
  ])('tells failures apart: %j is %s', (result, failure) => {
    const line = JSON.stringify({ type: 'result', subtype: 'success', is_error: true, ...result });
    expect(read([line]).events.at(-1)).toMatchObject({ type: 'failed', failure: { class: failure } });
  });

  it('says when the member door was not reached', () => {
    const [begin = ''] = recorded('turn').filter((line) => line.includes('"subtype":"init"'));
    const { events } = read([begin.replace('"status":"connected"', '"status":"failed"')]);
    expect(events).toMatchObject([{ type: 'failed', failure: { class: 'environment' } }]);
  });

  it('H35 cuts secrets out of messages, calls and results', () => {
    const lines = recorded('turn').map((line) => line.replaceAll('bye', 'the secret').replaceAll('"x"', '"secret"'));
    expect(JSON.stringify(read(lines).events)).not.toContain('secret');
  });

  it('survives stray prints, half lines, unknown types and shapes, and half characters', () => {
    const noise = [
      '',
      'Warning: …',
      '{"type":',
      '{"type":"novelty"}',
      '{"type":"assistant"}',
      '[1]',
      '{"type":"user","message":{"content":"x"}}',
    ];
    expect(read(noise)).toEqual({ events: [], signs: [], rest: [] });
    const [begin = ''] = recorded('turn').filter((line) => line.includes('"subtype":"init"'));
    const { events } = read([begin, answer('half \ud83d')]);
    expect(events[1]).toEqual({ type: 'message', text: 'half �' });
  });
});
