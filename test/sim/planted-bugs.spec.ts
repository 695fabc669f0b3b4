import { expect, it } from '@jest/globals';
import { liveWith } from './many-seeds.js';
import { plants } from './plants.js';

/** Each is seen much earlier; a machine that is busy needs long for one. */
const most = 40;
const patience = 600_000;

it.each(plants)(
  'sees that $name',
  async ({ name, seenBy }) => {
    const { failures } = await liveWith(name, most);
    expect(failures).toHaveLength(1);
    expect(seenBy).toContain(failures[0]?.rule);
  },
  patience,
);
