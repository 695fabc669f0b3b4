import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, problem, runCli } from '../../../../test/support/answering-farm.js';

let farm: AnsweringFarm | undefined;
afterEach(async () => {
  await farm?.close();
  farm = undefined;
});

const input_schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    title: { type: 'string', description: 'what it is called\u001b[2J' },
    parts: { type: 'array', items: { type: 'string' } },
  },
  required: ['title'],
  additionalProperties: false,
};
const listed = (name: string, cls: string) => ({
  name,
  group: 'my_notes',
  summary: 'Of a plugin.',
  class: cls,
  input_schema,
  output_schema: {},
});

async function run(...words: string[]) {
  farm = await anAnsweringFarm(({ path, body }) => {
    if (path === '/v1/operations')
      return { json: { operations: [listed('my_notes.fetch_new', 'read'), listed('my_notes.put', 'mutate')] } };
    if (JSON.parse(body.toString()).confirm !== true && path.endsWith('my_notes.put'))
      return problem('confirmation_required', 409, { detail: 'd', proposal: { summary: 'd', changes: [], count: 1 } });
    return { json: { result: { text: 'done' } } };
  });
  return await runCli(words, { env: { LONGSHORE_CREDENTIAL: farm.credential } });
}

const sent = () =>
  farm?.asked.filter(({ path }) => path.includes('my_notes')).map(({ body }) => JSON.parse(body.toString()));

describe('commands of a plugin', () => {
  it('A9.1 stand under the plugin, with arguments from the schema that the farm tells', async () => {
    const ran = await run('my-notes', 'fetch-new', '--title', 't', '--parts', 'a', '--parts', 'b', '--json');
    expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, { text: 'done' }]);
    expect(sent()).toEqual([{ input: { title: 't', parts: ['a', 'b'] } }]);
  });

  it('say in help what the plugin says of their arguments, and nothing that a terminal obeys', async () => {
    const { stdout } = await run('my-notes', 'put', '--help');
    expect(stdout).toMatch(/--title <text> +what it is called.*\(required\)/);
    expect(stdout).not.toContain('\u001b');
  });

  it('A6.1 ask for --yes where they change something', async () => {
    const asked = await run('my-notes', 'put', '--title', 't');
    expect([asked.exit, asked.stderr]).toEqual([5, expect.stringContaining('longshore my-notes put --title t --yes')]);
    await farm?.close();
    expect((await run('my-notes', 'put', '--title', 't', '--yes')).exit).toBe(0);
  });

  it('A9.4 end with 2 where no plugin has them, and where no farm answers', async () => {
    expect((await run('my-notes', 'explode')).exit).toBe(2);
    await farm?.close();
    expect((await run('other', 'put')).exit).toBe(2);
    await farm?.close();
    expect((await runCli(['my-notes', 'put'])).exit).toBe(2);
    expect((await run('my-notes', 'put', '--title', '1', '--bad')).exit).toBe(2);
  });

  it('are asked for only where the word is none of ours', async () => {
    await run('status', '--json');
    expect(farm?.asked.map(({ path }) => path)).not.toContain('/v1/operations');
  });
});
