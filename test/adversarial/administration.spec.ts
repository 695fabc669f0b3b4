import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { configShow, exposureList, exposureSet, jobSubmit, queueList } from '#contracts';
import { resultSchemaOf } from '../../apps/controller/src/doors/mcp/results/result-schema.js';
import { operations } from '../../apps/controller/src/operations/catalogue.js';
import { type Answer, callerWith, exchange } from '../support/a-controller.js';
import { spawnCli } from '../support/command-line.js';
import { aFleet, type Fleet, type FleetAgent } from '../support/fleet.js';
import { hostilePlugin } from '../support/hostile-plugin.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';

/** Nothing of it can ever be proposed: no file lifts it. */
const unliftable = operations.find(
  ({ access, hasPreview }) => access.class === 'mutate' && access.ceiling === 'never' && !hasPreview,
)?.name;

const configuration = (allowed: string) => `
[api]
mcp_enabled = true
[operations]
lift_never = ["${unliftable}"]
[mcp.allowed]
staus = true
worker_invite = true
my_plugin = false
${allowed}
${hostilePlugin}`;

let fleet: Fleet;
let agent: FleetAgent;
beforeAll(async () => {
  fleet = await aFleet(configuration('queue_list = true\nworker_list = true'));
  agent = await fleet.anAgent('reader', ['queue_list', 'worker_list', 'task_search'], { turnsOn: false });
  for (const at of fleet.farm.urls) await pluginIs('up', at);
});
afterAll(() => fleet.stop());

const at = (url: string) => callerWith(url, fleet.admin.token, fleet.admin.id);
const pluginIs = (state: 'up' | 'down', url: string) =>
  waitUntil(
    async () => ((await at(url).ask('odd.flood', { letter: 'a', times: 1 })).status === 200) === (state === 'up'),
    {
      within: 30_000,
    },
  );
const isOffered = async (name: string) => {
  const answers = await Promise.all(fleet.farm.urls.map((url) => agent.ask(name, {}, { at: url })));
  const told = new Set(answers.map(({ text }) => !text.includes('not available')));
  expect([name, told.size]).toEqual([name, 1]);
  return told.has(true);
};
const rowsOfConfig = () =>
  fleet.farm.rows('select target, owner, offered from operation_settings order by target, owner');

describe('the file of the farm', () => {
  it('T9 with a slip, an operation that is never offered, an absent plugin and a lift that can not be, lets each controller up with four warnings', async () => {
    for (const url of fleet.farm.urls) {
      const { warnings } = await at(url).call(configShow, {});
      expect(warnings).toEqual([
        expect.stringContaining(`${unliftable}`),
        expect.stringContaining('staus'),
        expect.stringContaining('worker_invite'),
        expect.stringContaining('my_plugin'),
      ]);
    }
    expect(await rowsOfConfig()).toEqual([
      { target: 'queue_list', owner: 'config', offered: true },
      { target: 'worker_list', owner: 'config', offered: true },
    ]);
    expect([await isOffered('queue_list'), await isOffered('worker_list'), await isOffered('worker_invite')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('T10 A3.4 gives up the row of a key that was removed, and a person’s lowering outlives every start', async () => {
    await fleet.admin.call(exposureSet, { target: 'queue_list', offered: 'off' }, { confirm: true });
    expect(await isOffered('queue_list')).toBe(false);
    writeFileSync(join(fleet.farm.data, 'longshore.toml'), configuration('queue_list = true'));
    await fleet.restart();
    expect(await rowsOfConfig()).toEqual([
      { target: 'queue_list', owner: 'config', offered: true },
      { target: 'queue_list', owner: 'user', offered: false },
    ]);
    expect([await isOffered('queue_list'), await isOffered('worker_list'), await isOffered('task_search')]).toEqual([
      false,
      false,
      true,
    ]);
    const why = JSON.stringify(await fleet.admin.call(exposureList, { target: 'queue_list' }));
    expect(why).toContain('user');
    await fleet.admin.call(exposureSet, { target: 'queue_list', offered: 'default' }, { confirm: true });
    expect(await isOffered('queue_list')).toBe(true);
    for (const url of fleet.farm.urls) await pluginIs('up', url);
  });
});

describe('the command line', () => {
  it('T21 ends with the frozen number for what the farm said, and says the same in JSON', async () => {
    const home = homeWith((credential) => credential);
    const { job_id } = await fleet.admin.call(jobSubmit, { kind: 'mail', pool: 'cli' });
    const nobody = '019a0000-0000-7000-8000-000000000000';
    const stranger = homeWith((credential) => ({ ...credential, principal: 'p_nobody00' }));
    const nowhere = homeWith((credential) => ({ ...credential, url: 'http://127.0.0.1:9' }));
    const ends: Record<string, number | NodeJS.Signals> = {};
    const run = async (words: string, from = home, as = words): Promise<string> => {
      const cli = await spawnCli(words.split(' '), from);
      ends[as.replace(job_id, '<job>').replace(nobody, '<nobody>')] = await cli.ended;
      return cli.stdout();
    };
    await Promise.all([run('status'), run('queue list --json'), run('--version')]);
    await run(`queue cancel ${job_id}`);
    expect(JSON.parse(await run(`queue cancel ${job_id} --json`))).toMatchObject({
      error: { code: 'confirmation_required', proposal: { count: 1 } },
    });
    const { jobs } = await fleet.admin.call(queueList, {});
    expect(jobs.find(({ id }) => id === job_id)?.state).toBe('queued');
    await run(`queue cancel ${job_id} --yes`);
    await Promise.all([run(`queue requeue ${job_id} --yes`), run(`queue cancel ${nobody} --yes`)]);
    await Promise.all([run('queue list --bad'), run('queue list --state bad'), run('no such command')]);
    await Promise.all([run('exposure set exposure_set on --yes'), run('exposure set no_such on --yes')]);
    await Promise.all([run('odd fail --where message'), run('status', stranger, 'status of a stranger')]);
    await run('status', nowhere, 'status of no farm');
    expect(ends).toEqual({
      status: 0,
      'queue list --json': 0,
      '--version': 0,
      'queue cancel <job>': 5,
      'queue cancel <job> --json': 5,
      'queue cancel <job> --yes': 0,
      'queue requeue <job> --yes': 6,
      'queue cancel <nobody> --yes': 3,
      'queue list --bad': 2,
      'queue list --state bad': 2,
      'no such command': 2,
      'exposure set exposure_set on --yes': 4,
      'exposure set no_such on --yes': 3,
      'odd fail --where message': 1,
      'status of a stranger': 4,
      'status of no farm': 7,
    });
  });

  function homeWith(change: (credential: Readonly<Record<string, unknown>>) => object): string {
    const home = tempDir('home');
    mkdirSync(join(home, '.longshore'), { mode: 0o700 });
    const path = join(home, '.longshore/credential.json');
    copyFileSync(join(fleet.farm.data, 'credential.json'), path);
    const credential = z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(path, 'utf8')));
    writeFileSync(path, JSON.stringify(change(credential)), { mode: 0o600 });
    return home;
  }
});

const Schema = z.record(z.string(), z.unknown());
const Listing = z.object({
  operations: z.array(z.looseObject({ name: z.string(), input_schema: Schema, output_schema: Schema })),
});
const Part = z.object({
  content: z.object({
    'application/json': z.object({ schema: z.object({ properties: z.record(z.string(), Schema) }) }),
  }),
});
const Document = z.object({
  paths: z.record(z.string(), z.object({ post: z.object({ requestBody: Part, responses: z.object({ 200: Part }) }) })),
});
const partOf = ({ content }: z.output<typeof Part>, member: string) => {
  const { $id: _, ...schema } = content['application/json'].schema.properties[member] ?? {};
  return schema;
};
const look = (url: string, path: string): Promise<Answer> =>
  exchange(`${url}${path}`, { headers: { authorization: `Bearer ${fleet.admin.token}` } });

describe('what there is', () => {
  it('T22 is one set of operations with one pair of schemas each: the registry, the list, OpenAPI and MCP, at every controller', async () => {
    const offered = operations.filter(
      ({ access }) => access.ceiling !== 'never' && (access.catalogue === 'operator' || access.catalogue === 'admin'),
    );
    const all = await fleet.anAgent('everything', [...offered.map(({ name }) => name), 'odd.sweep', 'odd.flood']);
    const tools = new Map((await all.tools()).map((tool) => [tool.name, tool]));
    const registry = new Map(operations.map((operation) => [operation.name, operation]));
    const [first = '', ...others] = fleet.farm.urls;
    for (const path of ['/v1/operations', '/v1/openapi.json']) {
      const { text } = await look(first, path);
      for (const url of others) expect((await look(url, path)).text).toBe(text);
    }
    const list = Listing.parse((await look(first, '/v1/operations')).body).operations;
    const { paths } = Document.parse((await look(first, '/v1/openapi.json')).body);
    expect(Object.keys(paths).sort()).toEqual(list.map(({ name }) => `/v1/operations/${name}`).sort());
    const forPeople = operations.filter(
      ({ access }) => access.catalogue === 'operator' || access.catalogue === 'admin',
    );
    const listed = list.map(({ name }) => name).filter((name) => !name.startsWith('odd.'));
    expect(listed.toSorted()).toEqual(forPeople.map(({ name }) => name).sort());
    const protocol = operations.filter(({ access }) => access.catalogue === 'job').map(({ name }) => name);
    const wanted = [...offered.map(({ name }) => name), ...protocol, 'odd.sweep', 'odd.flood'];
    expect([...tools.keys()].sort()).toEqual(wanted.sort());
    for (const { name, input_schema, output_schema } of list) {
      const post = paths[`/v1/operations/${name}`]?.post;
      if (!post) throw new Error(`${name} is not in the document`);
      expect(partOf(post.requestBody, 'input')).toEqual(input_schema);
      expect(partOf(post.responses[200], 'result')).toEqual(output_schema);
      const known = registry.get(name);
      if (known) expect([input_schema, output_schema]).toEqual([known.inputSchema, known.outputSchema]);
      const tool = tools.get(name);
      if (!tool) continue;
      const { confirmation_token: token, ...own } = Schema.parse(tool.inputSchema.properties ?? {});
      expect({ ...tool.inputSchema, properties: own }).toEqual({
        ...input_schema,
        properties: input_schema.properties ?? {},
      });
      if (known) expect(token !== undefined).toBe(known.access.class === 'mutate');
      if (known) expect(tool.outputSchema).toEqual(resultSchemaOf(known.contract, known.access.class));
    }
  });

  it('A10.3 loses the operations of a plugin that goes, with another ETag, and has them again when it comes back', async () => {
    const [url = ''] = fleet.farm.urls;
    const document = async () => {
      const { headers, body } = await look(url, '/v1/openapi.json');
      const names = Object.keys(Document.parse(body).paths);
      return { tag: headers.get('etag'), odd: names.filter((name) => name.includes('/odd.')).length };
    };
    const before = await document();
    expect(before).toEqual({ tag: expect.stringMatching(/^"[\w-]{43}"$/), odd: 7 });
    await at(url).ask('odd.leave', {});
    const without = await document();
    expect([without.odd, without.tag !== before.tag]).toEqual([0, true]);
    await pluginIs('up', url);
    expect(await document()).toEqual(before);
    const { headers } = await exchange(`${url}/v1/openapi.json`, {
      headers: { authorization: `Bearer ${fleet.admin.token}`, 'if-none-match': `${without.tag}` },
    });
    expect(headers.get('etag')).toBe(before.tag);
  });
});
