import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { trackPid } from '../../../../test/support/processes.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { waitUntil } from '../../../../test/support/wait-until.js';
import { type NodeProcess, startNodeProcess } from './node-process.js';
import { Supervised } from './supervised.js';

const alive = `process.stdout.write(JSON.stringify({ ready: true }) + '\\n'); setInterval(() => {}, 1000);`;

async function start(script: string): Promise<{ process: NodeProcess; log: string }> {
  const folder = tempDir('program');
  const [program, log] = [join(folder, 'main.mjs'), join(folder, 'log')];
  writeFileSync(program, script);
  const process = await startNodeProcess({ name: 'program', program, env: {}, log });
  trackPid(process.pid);
  return { process, log };
}

async function aSupervised(script: () => string) {
  const pids = join(tempDir('pids'), 'pids');
  const said: string[] = [];
  const supervised = new Supervised({
    name: 'program',
    again: true,
    say: (line) => said.push(line),
    start: async () => {
      const running = await start(script());
      await running.process.ready;
      appendFileSync(pids, `${running.process.pid}\n`);
      return running;
    },
  });
  await supervised.begin();
  return { supervised, said, pids: () => readFileSync(pids, 'utf8').trim().split('\n') };
}

describe('a program of the farm', () => {
  it('is started again when it ends by itself, and stays down when it was asked to end', async () => {
    const { supervised, said, pids } = await aSupervised(() => alive);
    supervised.current?.process.signal('SIGKILL');
    await waitUntil(() => pids().length === 2);
    expect(said).toEqual([expect.stringContaining('SIGKILL')]);
    await supervised.stop(5_000);
    expect(supervised.current?.process.running).toBe(false);
    expect(pids()).toHaveLength(2);
  });

  it('can be stopped while it waits to be started again', async () => {
    const { supervised, pids } = await aSupervised(() => alive);
    const { current } = supervised;
    current?.process.signal('SIGKILL');
    await current?.process.ended;
    await supervised.stop(5_000);
    expect(pids()).toHaveLength(1);
  });

  it('says why it did not start: the code and words of its own last line', async () => {
    const line = JSON.stringify({ level: 60, code: 'ticket_invalid', msg: 'The ticket was used.' });
    const { process } = await start(`process.stderr.write(${JSON.stringify(`${line}\n`)}); process.exitCode = 4;`);
    await expect(process.ready).rejects.toMatchObject({
      code: 'ticket_invalid',
      detail: 'The program: The ticket was used.',
    });
  });

  it('gets no variable of ours that is not on the list', async () => {
    const seen = await start(
      `process.stdout.write(JSON.stringify({ ready: true, names: Object.keys(process.env) }) + '\\n');`,
    );
    const { names } = await seen.process.ready;
    await seen.process.ended;
    const allowed = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ', 'SystemRoot', 'NODE_COMPILE_CACHE'];
    expect(Array.isArray(names) && names.filter((name) => !allowed.includes(String(name)))).toEqual([]);
  });
});
