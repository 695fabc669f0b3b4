import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { execa } from 'execa';
import { z } from 'zod';
import { lastJson, spawnCli } from '../support/command-line.js';
import { processesMarked } from '../support/processes-of.js';
import { plainGit } from '../support/repositories.js';
import { tempDir } from '../support/temp-dir.js';

/** Longer than the demonstration gives itself: then it says itself where it stood still. */
const withinMs = 330_000;

const Told = z.object({
  task_id: z.string(),
  status: z.literal('completed'),
  outcome: z.literal('green'),
  result: z.object({
    summary: z.string().min(1),
    branch: z.string(),
    commit: z.string(),
    files_changed: z.array(z.object({ path: z.string() })),
  }),
  workers: z.array(z.string()).length(2),
  jobs: z.number(),
  waves: z.number(),
  merges: z.number(),
  commands: z.number(),
  human_requests: z.number(),
  verified: z.literal(true),
  took_part: z.array(z.string()),
  epochs: z.number(),
  killed_worker: z.string(),
  finished_by: z.string(),
  seconds: z.number(),
  data: z.string(),
});

describe('npm run demo -- --kill', () => {
  it(
    'P1 keeps its word: another worker finishes at the second epoch, and the test passes in a fresh clone of the result',
    async () => {
      const home = tempDir('home');
      const data = join(home, 'demo');
      const demo = await spawnCli(['demo', '--kill', '--json', '--keep', '--data', data], home);
      expect([await demo.ended, demo.stderr()]).toEqual([0, expect.stringContaining('everything is stopped')]);
      const told = Told.parse(lastJson(demo));

      expect(told).toMatchObject({ epochs: 2, human_requests: 1, commands: 1, data });
      expect(told.waves).toBeGreaterThanOrEqual(2);
      expect(told.merges).toBeGreaterThanOrEqual(2);
      expect(told.jobs).toBeGreaterThan(told.waves);
      expect(told.finished_by).not.toBe(told.killed_worker);
      expect(told.workers).toEqual(expect.arrayContaining([told.finished_by, told.killed_worker]));
      expect(told.result.files_changed.map(({ path }) => path)).toEqual([
        'CHANGELOG.md',
        'src/letters.js',
        'src/words.js',
        'test/empty.test.js',
      ]);

      const clone = join(tempDir('clone'), 'slug');
      plainGit(home, ['clone', '-q', join(data, 'slug'), clone]);
      const testAt = async (commit: string) => {
        plainGit(clone, ['checkout', '-q', commit]);
        // Inside a test Node takes itself for a part of one: the library's test gets an environment of its own.
        const options = { cwd: clone, reject: false, extendEnv: false, env: { PATH: process.env.PATH ?? '' } };
        return (await execa(process.execPath, ['--test'], options)).exitCode;
      };
      expect(await testAt('origin/main')).not.toBe(0);
      expect(await testAt(told.result.commit)).toBe(0);
      expect(plainGit(clone, ['rev-parse', `origin/${told.result.branch}`])).toBe(told.result.commit);

      for (const worker of told.workers) expect(processesMarked(`LONGSHORE_WORKER=${worker}`)).toEqual([]);
      expect(processesMarked(data)).toEqual([]);
    },
    withinMs,
  );
});

describe('npm run demo', () => {
  it(
    'is a team on both workers, in several Waves, that asks a person once; verified, and leaves nothing behind',
    async () => {
      const home = tempDir('home');
      const demo = await spawnCli(['demo', '--json'], home);
      expect(await demo.ended).toBe(0);
      const told = Told.partial({ killed_worker: true, data: true }).parse(lastJson(demo));
      expect(told).toMatchObject({ epochs: 1, human_requests: 1, commands: 1, verified: true });
      expect([told.waves >= 2, told.merges >= 2]).toEqual([true, true]);
      expect(told.took_part.toSorted()).toEqual(told.workers.toSorted());
      expect(readdirSync(home).filter((name) => name.startsWith('longshore-'))).toEqual([]);
      expect(processesMarked(home)).toEqual([]);
    },
    withinMs,
  );
});
