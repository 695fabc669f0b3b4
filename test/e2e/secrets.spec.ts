import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Farm } from '../support/farm.js';
import { allCommandLines } from '../support/processes-of.js';
import { waitUntil } from '../support/wait-until.js';

let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ workers: ['north'] });
});
afterAll(() => farm.stop());

describe('what is told in confidence', () => {
  it('H22 stands in no command line: a prompt of 60 KiB runs and its canary is nowhere', async () => {
    const canary = 'CANARY-7f3a9c';
    const task = await farm.startTask(`
steps:
  - say: "${canary}"
  - wait: { file: go }
  - call: { operation: checkpoint, input: { summary: "Done.", outcome: green } }
# ${canary} ${'x'.repeat(60_000)}
`);
    const job = await waitUntil(async () => (await farm.jobs(task)).find((found) => found.phase === 'started'), {
      within: 120_000,
      what: 'the job to start',
    });
    const lines = allCommandLines().join('\n');
    expect(lines).toContain('scripted-agent');
    expect(lines).not.toContain(canary);
    expect(job.epoch).toBe(1);
    await farm.control(task, 'cancel');
    for (const log of ['north.log', 'logs/controller.log']) {
      expect(readFileSync(join(farm.data, log), 'utf8')).not.toContain(canary);
    }
  });
});
