import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { Shelf } from './shelf.js';

/** A folder that one makes until it is let go on, and another waits for. */
async function aBuild() {
  const shelf = new Shelf(tempDir('shelf'));
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const make = async (): Promise<void> => {
    begun.resolve();
    await goOn.promise;
  };
  const builder = shelf.use('key', make, new AbortController().signal, async ({ fresh }) => fresh);
  await begun.promise;
  return { shelf, goOn, builder };
}

const never = () => Promise.reject(new Error('made again'));

describe('a shelf', () => {
  it('makes once what two want', async () => {
    const { shelf, goOn, builder } = await aBuild();
    const waits = shelf.use('key', never, new AbortController().signal, async ({ fresh }) => fresh);
    goOn.resolve();
    expect(await Promise.all([builder, waits])).toEqual([true, false]);
  });

  it('W17 lets one go at once who is cancelled while another makes it, and does nothing for them', async () => {
    const { shelf, goOn, builder } = await aBuild();
    const cancel = new AbortController();
    let worked = false;
    const waits = shelf.use('key', never, cancel.signal, async () => {
      worked = true;
    });
    cancel.abort(new Error('cancelled'));
    // the build is still held up
    await expect(waits).rejects.toThrow('cancelled');
    goOn.resolve();
    expect(await builder).toBe(true);
    expect([worked, existsSync(shelf.pathOf('key'))]).toEqual([false, true]);
  });

  it('does nothing for one who was cancelled before, also where it stands', async () => {
    const { shelf, goOn, builder } = await aBuild();
    goOn.resolve();
    await builder;
    let worked = false;
    const late = shelf.use('key', never, AbortSignal.abort(new Error('cancelled')), async () => {
      worked = true;
    });
    await expect(late).rejects.toThrow('cancelled');
    expect(worked).toBe(false);
  });
});
