import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCli } from '../support/answering-farm.js';
import { Farm, type FarmWorker } from '../support/farm.js';
import { aHoldingRoadTo, type HoldingRoad } from '../support/holding-road.js';
import { tempDir } from '../support/temp-dir.js';
import { waitUntil } from '../support/wait-until.js';

const script = `steps:
  - write: {path: done.txt, content: "done\\n"}
  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}`;

let farm: Farm;
let road: HoldingRoad;
beforeAll(async () => {
  farm = await Farm.start();
  road = await aHoldingRoadTo(farm.url);
  await Promise.all(['north', 'south'].map((name) => farm.join(name, { slots: 1, url: road.url })));
});
afterAll(async () => {
  await farm.stop();
  road.close();
});

const workers = (): readonly FarmWorker[] => [...farm.workers.values()];
const cli = (...words: readonly string[]) =>
  runCli(words, { env: { LONGSHORE_CREDENTIAL: join(farm.data, 'credential.json') } });

/** The member asks what it is to do, then the machine of the command does: before it is told, it can not have begun. */
function ofTheSecondJob(): (path: string) => boolean {
  let first: string | undefined;
  return (path) => {
    const job = /^\/v1\/jobs\/([^/]+)\/request$/.exec(path)?.[1];
    first ??= job;
    return job !== undefined && job !== first;
  };
}

/** Who claims the command of a Task: the first worker that says so. */
async function claimant(task: string): Promise<FarmWorker> {
  return waitUntil(
    async () => {
      const job = (await farm.jobs(task)).find(({ kind }) => kind === 'command_run');
      return workers().find(({ events }) => events.some((event) => event.event === 'claimed' && event.job === job?.id));
    },
    { within: 120_000, every: 10, what: 'the command is claimed' },
  );
}

describe('the verification of a Task on a farm', () => {
  it('tells green and verified, and shows all that the command said', async () => {
    const task = await farm.startTask(script, { verify: 'cat done.txt; seq 1 3000; exit 0' });
    const { result } = await farm.until(task);
    expect(result).toMatchObject({ outcome: 'green', verified: true, verification: { exit_code: 0 } });
    const said = await cli('task', 'output', task);
    expect(said.stdout).toBe(`done\n${Array.from({ length: 3000 }, (_, n) => `${n + 1}\n`).join('')}`);
    const shown = await cli('task', 'get', task);
    expect(shown.stdout).toContain('verified');
  });

  it('keeps the branch of a Task whose command failed, and says so with the end of what it said', async () => {
    const task = await farm.startTask(script, { verify: 'echo "1 test failed" >&2; exit 4' });
    const { status, result } = await farm.until(task);
    expect([status, result?.outcome, result?.verified]).toEqual(['completed', 'green', false]);
    expect(await farm.fileOf(task, 'done.txt')).toBe('done');
    const shown = await cli('task', 'get', task);
    expect(shown.stdout).toMatch(/not verified[\s\S]*exit code 4[\s\S]*1 test failed/);
    const patch = await cli('task', 'patch', task);
    expect(patch.stdout).toContain('+done');
    expect((await cli('task', 'diff', task, '--stat')).stdout).toContain('done.txt');
  });

  it('H8 runs a command once whose first machine was killed before it began, and never again one that had begun', async () => {
    const folder = tempDir('marks');
    const early = join(folder, 'early');
    const asksForCommand = road.holdNext(ofTheSecondJob());
    const first = await farm.startTask(script, { verify: `echo ran >> ${early}` });
    await asksForCommand;
    const killed = await claimant(first);
    killed.signal('SIGKILL');
    await killed.ended;
    const done = await farm.until(first);
    expect([done.result?.verified, readFileSync(early, 'utf8')]).toEqual([true, 'ran\n']);
    await killed.again();

    const late = join(folder, 'late');
    const second = await farm.startTask(script, { verify: `echo ran >> ${late}; sleep 600` });
    await waitUntil(() => existsSync(late), { within: 120_000, what: 'the command runs' });
    const holder = await claimant(second);
    holder.signal('SIGKILL');
    await holder.ended;
    const lost = await farm.until(second);
    expect(lost.result).toMatchObject({ outcome: 'green', verified: false, verification: { state: 'abandoned' } });
    expect(readFileSync(late, 'utf8')).toBe('ran\n');
    await holder.again();
  });
});
