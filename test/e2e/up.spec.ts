import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { systemCodeOf } from '#contracts';
import { Browser } from '../support/a-browser.js';
import { lastJson, spawnCli } from '../support/command-line.js';
import type { TrackedProcess } from '../support/processes.js';
import { processesMarked } from '../support/processes-of.js';
import { aRepository } from '../support/repositories.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';

const home = tempDir('home');
const data = join(home, '.longshore');
let farm: TrackedProcess;

async function start(): Promise<TrackedProcess> {
  const up = await spawnCli(['up', '--port', '0', '--json'], home);
  await waitUntil(() => up.stdout().includes('"ready":true'), { within: 120_000, what: 'the farm' });
  return up;
}

async function cli(...words: readonly string[]) {
  const running = await spawnCli(words, home);
  const exit = await running.ended;
  return { exit, stdout: running.stdout(), stderr: running.stderr(), json: () => lastJson(running) };
}

const processOf = (name: string): number => JSON.parse(readFileSync(join(data, 'run', `${name}.json`), 'utf8')).pid;
const First = z.object({
  url: z.url(),
  first_admin: z.object({ name: z.string(), password: z.string().min(20) }).optional(),
});
const live = async () => {
  const { exit, json } = await cli('status', '--json');
  return exit === 0 ? json() : undefined;
};

const workflow = `
kind: workflow
id: solo
description: One member that follows the script in its prompt.
lead: { id: lead, provider: { kind: scripted } }
`;
const Named = z.object({ task_id: z.string() });
const fence = '```';
const prompt = (steps: string) => `Do this.\n${fence}yaml longshore-script\nsteps:\n${steps}\n${fence}\n`;

/** Every file of a folder at work, but for those that go while it is read: PostgreSQL renames and removes its own. */
function contentsOf(folder: string): ReadonlyMap<string, Buffer> {
  const contents = new Map<string, Buffer>();
  for (const path of globSync('**/*', { cwd: folder })) {
    const full = join(folder, path);
    if (!statSync(full, { throwIfNoEntry: false })?.isFile()) continue;
    try {
      contents.set(path, readFileSync(full));
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error;
    }
  }
  return contents;
}

describe('npm start', () => {
  beforeAll(async () => {
    farm = await start();
  });
  // Inside the block: the file's own hooks end every process that it has started, without a drain.
  afterAll(async () => {
    farm.signal('SIGINT');
    await farm.ended;
  });

  it('keeps what is secret for its owner alone', () => {
    for (const path of ['credential.json', 'keys/signing.json', 'workers/local-1/identity.json']) {
      expect([path, (statSync(join(data, path)).mode & 0o777).toString(8)]).toEqual([path, '600']);
    }
    expect((statSync(data).mode & 0o777).toString(8)).toBe('700');
  });

  it("shows the first admin's password once, and keeps it in no file", async () => {
    const { first_admin: admin, url } = First.parse(lastJson(farm));
    const browser = new Browser(url);
    expect((await browser.logIn(admin?.name ?? '', admin?.password ?? '')).status).toBe(200);
    const contents = contentsOf(data);
    expect([...contents.keys()]).toEqual(expect.arrayContaining(['credential.json', 'logs/controller.log']));
    const telling = [...contents].filter(([, content]) => content.includes(admin?.password ?? ''));
    expect(telling.map(([path]) => path)).toEqual([]);
    expect(farm.stderr()).not.toContain(admin?.password);
  });

  it('does a Task from a checkout to a branch in it', async () => {
    const repository = aRepository({ 'a.txt': 'one\n' });
    const file = join(home, 'solo.yaml');
    writeFileSync(file, workflow);
    expect(await cli('workflow', 'import', file)).toMatchObject({ exit: 0 });
    const green = prompt(
      '  - write: { path: b.txt, content: "two\\n" }\n  - call: { operation: checkpoint, input: { outcome: green, summary: Wrote it } }',
    );
    const started = await spawnCli(
      ['task', 'start', '--workflow', 'solo', green, '--watch', '--json'],
      home,
      repository,
    );
    expect(await started.ended).toBe(0);
    const { task_id } = Named.parse(lastJson(started));
    const checkout = await spawnCli(['task', 'checkout', task_id, '--switch'], home, repository);
    expect(await checkout.ended).toBe(0);
    expect(readFileSync(join(repository, 'b.txt'), 'utf8')).toBe('two\n');
  });

  it('starts a controller again that was killed, at the same address', async () => {
    process.kill(processOf('controller'), 'SIGKILL');
    const back = await waitUntil(live, { within: 120_000, every: 500, what: 'the controller' });
    expect(back).toMatchObject({ workers: { live: 1 } });
  });

  it('refuses a second farm on the same folder, naming the process', async () => {
    const second = await cli('up', '--port', '0', '--json');
    expect([second.exit, second.stderr]).toEqual([6, expect.stringContaining(String(farm.pid))]);
  });

  it('drains on Ctrl-C: work in hand is handed in, all processes end, and the state is there at the next start', async () => {
    const hang = prompt('  - write: { path: half.txt, content: "half\\n" }\n  - say: half done\n  - hang');
    const started = await cli('task', 'start', '--workflow', 'solo', hang, '--empty', '--json');
    const { task_id } = Named.parse(started.json());
    await waitUntil(() => farm.stderr().includes('half done'), { within: 120_000, what: 'the session' });
    farm.signal('SIGINT');
    expect(await farm.ended).toBe(0);
    expect(farm.stderr()).toContain('(drained)');
    expect(processesMarked(data)).toEqual([]);
    expect((await cli('status')).exit).toBe(7);

    farm = await start();
    expect(First.parse(lastJson(farm)).first_admin).toBeUndefined();
    const view = (await cli('task', 'get', task_id, '--json')).json();
    expect(view).toMatchObject({ task_id, status: 'running' });
    expect((await cli('task', 'cancel', task_id, '--yes')).exit).toBe(0);
  });

  it('takes over what a killed one has left', async () => {
    farm.signal('SIGKILL');
    await farm.ended;
    const left = processOf('controller');
    farm = await start();
    expect(processOf('controller')).not.toBe(left);
    expect(farm.stderr()).toContain('an earlier run had left');
    expect(await live()).toMatchObject({ workers: { live: 1 } });
  });

  it('ends at once at the second Ctrl-C', async () => {
    const deaf = prompt('  - grandchild: true\n  - say: deaf now\n  - hang: { deaf: true }');
    await cli('task', 'start', '--workflow', 'solo', deaf, '--empty', '--json');
    await waitUntil(() => farm.stderr().includes('deaf now'), { within: 120_000, what: 'the session' });
    farm.signal('SIGINT');
    await waitUntil(() => farm.stderr().includes('draining'), { what: 'the drain' });
    farm.signal('SIGINT');
    await farm.ended;
    await waitUntil(() => processesMarked(data).length === 0, { within: 120_000, what: 'all processes to end' });
  });
});
