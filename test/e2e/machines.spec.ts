import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { workerList } from '#contracts';
import { startWorker } from '../../apps/cli/src/farm/worker-process.js';
import { Farm } from '../support/farm.js';
import { waitUntil } from '../support/wait-until.js';

let farm: Farm;
afterEach(() => farm.stop());

const quick = (n: number) => `
steps:
  - write: { path: "file-${n}.txt", content: "${n}" }
  - call: { operation: checkpoint, input: { summary: "Done ${n}.", outcome: green } }
`;

const hourAhead = { NODE_OPTIONS: `--import=${new URL('../support/hour-ahead.mjs', import.meta.url).pathname}` };

describe('a machine', () => {
  it('H15 A12.4 whose clock is an hour off works as any other', async () => {
    farm = await Farm.start();
    await farm.join('ahead', { env: hourAhead });
    const task = await farm.startTask(quick(1));
    expect((await farm.until(task)).result?.outcome).toBe('green');
    expect((await farm.jobs(task))[0]).toMatchObject({ epoch: 1, state: 'done' });
  });

  it('H11 that is broken spends nothing: of 50 jobs on a broken and a good one all are green, and it is quarantined', async () => {
    farm = await Farm.start({ workers: ['good'], slots: 4 });
    // A git that answers its version and nothing else: every workspace fails on this machine.
    const bin = join(farm.data, 'broken-bin');
    mkdirSync(bin);
    const real = process.env.PATH ?? '';
    const git = `#!/bin/sh\nfor word; do [ "$word" = version ] && PATH='${real}' exec git "$@"; done\nexit 127\n`;
    writeFileSync(join(bin, 'git'), git, { mode: 0o755 });
    const broken = await farm.join('broken', { slots: 4, env: { PATH: `${bin}:${real}` } });
    const tasks: string[] = [];
    for (let n = 0; n < 50; n += 1) tasks.push(await farm.startTask(quick(n)));
    for (const task of tasks) {
      expect((await farm.until(task)).result?.outcome).toBe('green');
    }
    const { workers } = await farm.client.call(workerList, {});
    expect(workers.find((worker) => worker.worker_id === broken.id)).toMatchObject({ state: 'quarantined' });
    const rows = await farm.rows<{ recoveries: number }>('select recoveries from assignment where recoveries > 0');
    expect(rows).toEqual([]);
  }, 600_000);

  it('H14 D16 can not be copied: a second process with its folder is told who has the identity, and gets no work', async () => {
    farm = await Farm.start({ workers: ['first'] });
    const first = farm.workers.get('first');
    const copy = join(farm.data, 'workers', 'copy');
    cpSync(first?.home ?? '', copy, { recursive: true });
    await expect(
      startWorker({ name: 'copy', home: copy, url: farm.url, log: join(farm.data, 'copy.log') }),
    ).rejects.toMatchObject({
      code: 'identity_in_use',
    });
    const task = await farm.startTask(quick(1));
    expect((await farm.until(task)).result?.outcome).toBe('green');
  });

  it('D16 gives its identity free when it drains, so that its next life starts at once', async () => {
    farm = await Farm.start({ workers: ['first'] });
    const first = farm.workers.get('first');
    first?.signal('SIGTERM');
    await first?.ended;
    const second = await first?.again();
    const task = await farm.startTask(quick(1));
    await farm.until(task);
    expect(second?.id).toBe(first?.id);
    await waitUntil(() => second?.events.some((event) => event.event === 'completed'), {
      what: 'the second life to finish the job',
    });
  });
});
