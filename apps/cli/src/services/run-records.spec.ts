import { expect, it } from '@jest/globals';
import { spawnTracked } from '../../../../test/support/processes.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { isAlive } from './process-mark.js';
import { openRunRecords } from './run-records.js';

it('ends what a crash left, and nothing that was forgotten', async () => {
  const data = tempDir();
  const [left, gone, kept] = [
    await spawnTracked('sleep', ['1000']),
    await spawnTracked('true', []),
    await spawnTracked('sleep', ['1000']),
  ];
  const before = await openRunRecords(data);
  await before.record('left', left.pid);
  await before.record('gone', gone.pid);
  await before.record('kept', kept.pid);
  await before.forget('kept');
  await gone.ended;

  const after = await openRunRecords(data);
  await after.endLeft();

  expect(isAlive(left.mark)).toBe(false);
  expect(isAlive(kept.mark)).toBe(true);
  expect(await after.endLeft()).toEqual([]);
});

it('does not end another process that has the pid now', async () => {
  const data = tempDir();
  const other = await spawnTracked('sleep', ['1000']);
  const records = await openRunRecords(data);
  await records.record('old', other.pid);
  const { writePrivateJson } = await import('./private-file.js');
  await writePrivateJson(`${data}/run/old.json`, { pid: other.pid, started: '1' });

  await records.endLeft();

  expect(isAlive(other.mark)).toBe(true);
});
