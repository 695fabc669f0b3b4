import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { headers, limits, type OutputHead } from '#contracts';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { Farm } from '../controller/farm.js';
import { layCommandOutput, outputPathOf } from './command-output.js';
import { folderAt } from './owner-marker.js';

const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const payload = { task_directory: '.longshore/t_00000000', command_output: 'c_00000000' };
const path = outputPathOf(payload.task_directory, payload.command_output);
const whole = { state: 'succeeded', ended: true, observed_bytes: 0, written_bytes: 0, complete: true } as const;

/** A farm that answers with these parts, one after the other, and a workspace. */
async function aPlace(parts: readonly string[], facts: Partial<OutputHead> = {}) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const n = Number(/from=1\.(\d+)\.0$/.exec(request.url ?? '')?.[1] ?? 0);
    const head = { ...whole, ...facts, next: `1.${n + 1}.0`, is_bounded: n + 1 < parts.length };
    response.setHeader(headers.output, JSON.stringify(head)).end(parts[n]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const token = async () => 'a-token';
  const farm = new Farm(`http://127.0.0.1:${port}`, { token, renew: token });
  closing.push(
    () => farm.close(),
    () => server.close(),
  );
  const folder = folderAt(tempDir('dispatch'));
  mkdirSync(folder.work, { recursive: true });
  const road = { farm, job: 'j', jobToken: () => 'job', signal: new AbortController().signal };
  return { asked, folder, lay: () => layCommandOutput(road, folder, payload) };
}

const read = (work: string) => readFileSync(join(work, path), 'utf8');

describe('what a command said, in a workspace that does not have it', () => {
  it('M9 is laid in where the continuation says, part by part, and nothing else is left', async () => {
    const { asked, folder, lay } = await aPlace(['one\n', 'two\n', 'three\n']);
    await lay();
    expect(read(folder.work)).toBe('one\ntwo\nthree\n');
    expect(asked).toEqual(['', '?from=1.1.0', '?from=1.2.0'].map((query) => `/v1/jobs/j/command-output${query}`));
    expect(readdirSync(folder.path)).toEqual(['work']);
  });

  it('M9 is left as it is where the command ran', async () => {
    const { asked, folder, lay } = await aPlace(['from the farm\n']);
    mkdirSync(join(folder.work, dirname(path)), { recursive: true });
    writeFileSync(join(folder.work, path), 'from here\n');
    await lay();
    expect([read(folder.work), asked]).toEqual(['from here\n', []]);
  });

  it('M9 ends with a line that says what is missing: what is over the limit, and what never arrived', async () => {
    const part = 'x'.repeat(limits.commandLogBytes / 2);
    const more = { written_bytes: limits.commandLogBytes + 7 };
    const long = await aPlace([part, part, 'and seven'], more);
    await long.lay();
    const kept = read(long.folder.work);
    expect(kept.slice(limits.commandLogBytes)).toBe('\n[7 bytes more are not in this file]\n');
    expect(long.asked).toHaveLength(2);
    const lost = await aPlace(['half'], { complete: false, state: 'abandoned' });
    await lost.lay();
    expect(read(lost.folder.work)).toBe('half\n[what the command said after this did not arrive]\n');
  });

  it('H21 goes through no symlink: neither a folder on the way nor the file itself', async () => {
    const outside = tempDir('outside');
    const { folder, lay } = await aPlace(['said\n']);
    mkdirSync(join(folder.work, payload.task_directory), { recursive: true });
    symlinkSync(outside, join(folder.work, payload.task_directory, 'command-runs'));
    await expect(lay()).rejects.toMatchObject({ code: 'invalid_task_path' });
    expect(readdirSync(outside)).toEqual([]);

    const file = join(outside, 'kept.log');
    writeFileSync(file, 'kept\n');
    const other = await aPlace(['said\n']);
    mkdirSync(join(other.folder.work, dirname(path)), { recursive: true });
    symlinkSync(file, join(other.folder.work, path));
    await other.lay();
    expect([read(other.folder.work), readFileSync(file, 'utf8')]).toEqual(['said\n', 'kept\n']);
  });
});
