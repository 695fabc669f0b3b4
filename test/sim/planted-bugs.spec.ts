import { beforeAll, expect, it } from '@jest/globals';
import { liveWith } from './many-seeds.js';
import { plants } from './plants.js';
import type { SimReport } from './report.js';

/** Each is seen much earlier; a machine that is busy needs long for one. */
const most = 40;
const patience = plants.length * 600_000;

let reports: readonly SimReport[];
beforeAll(async () => {
  const names = plants.map(({ name }) => name);
  reports = await liveWith(names, most);
}, patience);

it.each(plants)('sees that $name', ({ name, seenBy, refusedWith }) => {
  const { failures } = reports[plants.findIndex((plant) => plant.name === name)] ?? { failures: [] };
  expect(failures).toHaveLength(1);
  const [failure] = failures;
  if (failure?.rule === 'fault' && refusedWith !== undefined) expect(failure.seen).toContain(refusedWith);
  else expect(seenBy).toContain(failure?.rule);
});
