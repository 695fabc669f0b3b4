import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { bundleFor, emptyBase, openStore } from '#git';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { materialise } from './materialise.js';
import { folderAt } from './owner-marker.js';

describe('making a workspace', () => {
  it('W11 says what was used and why the better ones were not', async () => {
    expect(await make([])).toMatchObject({
      requested: 'best',
      backend: 'clone',
      fell_back: true,
      reasons: [expect.stringContaining('overlay'), expect.stringContaining('reflink')],
    });
    expect(await make(['clone'])).toMatchObject({
      requested: 'clone',
      backend: 'clone',
      fell_back: false,
      reasons: [],
    });
  });

  it('W11 makes no lesser one where a backend is required', async () => {
    await expect(make(['overlay'])).rejects.toMatchObject({ code: 'isolation_unavailable' });
  });
});

async function make(required: string[]) {
  const store = await openStore(join(tempDir('store'), 'task.git'));
  const base = await emptyBase(store);
  return materialise(
    folderAt(tempDir('dispatch')),
    {
      task_id: 't_00000000',
      member_id: 'mender',
      title: 'A Task',
      provider: 'scripted',
      base,
      task_directory: '.longshore/t_00000000',
      isolation: { required, allow_fallback: false },
    },
    await bundleFor(store, base),
  );
}
