import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bundleCheckout } from '#git';
import { readCredential } from '../../apps/cli/src/client/credential.js';
import { personClient } from '../../apps/cli/src/client/farm-client.js';
import { Farm } from '../support/farm.js';
import { aRepository } from '../support/repositories.js';
import { tempDir } from '../support/temp-dir.js';

let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ controllers: 2 });
});
afterAll(() => farm.stop());

describe('two controllers', () => {
  it('D23 share one data folder: a source that one took in, a worker of the other works on, and either gives the result', async () => {
    const [first = '', second = ''] = farm.urls;
    const file = join(farm.data, 'credential.json');
    const credential = await readCredential(file);
    const [here, there] = [first, second].map((url) => personClient({ ...credential, url }, file));
    const source = await bundleCheckout({
      dir: aRepository({ 'a.txt': 'a' }),
      out: join(tempDir('source'), 'source.bundle'),
    });
    await here?.putSource(source.sha256, source.bundle);
    await farm.join('north', { url: second });

    const { sha256, base: commit, head, dirty } = source;
    const task = await farm.startTask(
      `
steps:
  - edit: { path: a.txt, find: "a", replace: "b" }
  - call: { operation: checkpoint, input: { summary: "Edited.", outcome: green } }
`,
      { source: { kind: 'bundle', sha256, commit, head, dirty } },
    );
    expect((await farm.until(task)).result?.files_changed).toMatchObject([{ path: 'a.txt', status: 'modified' }]);
    const bundles = tempDir('results');
    await here?.getResult(task, join(bundles, 'one'));
    await there?.getResult(task, join(bundles, 'two'));
    await Promise.all([here?.close(), there?.close()]);
  });
});
