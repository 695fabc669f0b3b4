import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { taskControl, taskStart, workflowImport } from '#contracts';
import { runCli } from '../support/answering-farm.js';
import { Farm } from '../support/farm.js';
import { aRepository, plainGit } from '../support/repositories.js';
import { tempDir } from '../support/temp-dir.js';

const script = (path: string, more = '') => `steps:
  - write: {path: ${path}, content: "${path}\\n"}
${more}  - call: {operation: checkpoint, input: {outcome: green, summary: Done}}`;

const child = (id: string) => `
    - id: ${id}
      provider: { kind: scripted }
      instruction: |
        \`\`\`yaml longshore-script
        steps:
          - run: {command: mkdir busy && sleep 1 && rmdir busy && echo ${id} >> shared.txt, must_pass: true}
          - call: {operation: checkpoint, input: {outcome: green, summary: Done by ${id}}}
        \`\`\``;

const team = `
kind: workflow
id: pair
description: A lead and two that work in one folder.
lead:
  id: lead
  provider: { kind: scripted }
  instruction: |
    \`\`\`yaml longshore-script
    steps:
      - call:
          operation: delegate
          input: {assignments: [{child_id: one, prompt: Do it}, {child_id: two, prompt: Do it}]}
    rounds:
      - when: {continuation: delegation_wave_settled, told: already_merged}
        steps:
          - call: {operation: checkpoint, input: {outcome: green, summary: Done}}
    \`\`\`
  children:${child('one')}${child('two')}
`;

let farm: Farm;
let root: string;
beforeAll(async () => {
  root = realpathSync(tempDir('srv'));
  farm = await Farm.start({ workers: [] });
  await farm.join('elsewhere');
  await farm.join('build1', { labels: ['host:build1'], env: { LONGSHORE_WORKSPACE_ROOTS: root } });
  await farm.client.call(workflowImport, { document: team }, { confirm: true });
});
afterAll(() => farm.stop());

/** A checkout in the root, with unfinished work, an ignored file and a git of its owner's. */
function aFolder(name: string): string {
  const made = aRepository({ 'a.txt': 'a\n', '.gitignore': 'deps/\n' });
  const dir = join(root, name);
  renameSync(made, dir);
  mkdirSync(join(dir, 'deps'));
  writeFileSync(join(dir, 'deps/big'), 'big');
  writeFileSync(join(dir, 'unfinished.txt'), 'u\n');
  return dir;
}

const start = (path: string, text: string, more = {}) =>
  farm.startTask(text, { workspace: { host: 'build1', path }, ...more });

async function resume(task: string): Promise<void> {
  const action = (await farm.task(task)).actions.find(({ kind }) => kind === 'resume');
  await farm.client.call(taskControl, { task_id: task, action_id: action?.id }, { confirm: true });
}

/** All files of a folder with their bytes. */
function contentOf(dir: string): Readonly<Record<string, string>> {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path, readFileSync(path, 'latin1')];
    }),
  );
}

describe('a Task that works in a folder of one machine', () => {
  it('H27 works in that very folder, on that machine alone, and shows what it changed against what was there', async () => {
    const dir = aFolder('app');
    const git = contentOf(join(dir, '.git'));
    const task = await start(dir, script('b.txt', '  - write: {path: a.txt, content: "changed\\n"}\n'), {
      verify: 'test -f deps/big && test -f b.txt',
    });
    const view = await farm.until(task, ['completed', 'paused']);
    expect(view).toMatchObject({
      status: 'completed',
      workspace: { host: 'build1', path: dir },
      result: {
        verified: true,
        isolation: { backend: 'in_place' },
        files_changed: [
          { path: 'a.txt', status: 'modified' },
          { path: 'b.txt', status: 'added' },
        ],
      },
    });
    expect(readFileSync(join(dir, 'b.txt'), 'utf8')).toBe('b.txt\n');
    expect(contentOf(join(dir, '.git'))).toEqual(git);
    expect(plainGit(dir, ['status', '--porcelain']).split('\n')).toEqual(['M a.txt', '?? b.txt', '?? unfinished.txt']);
    expect(readFileSync(join(dir, 'deps/big'), 'utf8')).toBe('big');
    const build1 = farm.workers.get('build1');
    const claims = farm.workers.get('elsewhere')?.events.filter(({ event }) => event === 'claimed');
    expect(claims).toEqual([]);
    expect(readdirSync(join(build1?.home ?? '', 'workspaces'))).toEqual([]);
  });

  it('H27 is refused by the machine for a folder that its owner does not allow, and nothing there is touched', async () => {
    const outside = realpathSync(tempDir('outside'));
    for (const [path, said] of [
      ['~/.ssh', 'not plain'],
      [outside, 'none of those'],
      [`${root}/../srv`, 'not plain'],
    ] as const) {
      const task = await start(path, script('x.txt'));
      const { pause_reason, attention } = await farm.until(task, ['paused']);
      expect(pause_reason).toBe('workspace_unavailable');
      expect(attention).toMatchObject([{ kind: 'workspace_unavailable', summary: expect.stringContaining(said) }]);
    }
    expect(readdirSync(outside)).toEqual([]);
  });

  it('H27 waits where the folder is gone, and goes on by Resume when it is back', async () => {
    const dir = join(root, 'late');
    const task = await start(dir, script('b.txt'));
    expect(await farm.until(task, ['paused'])).toMatchObject({ pause_reason: 'workspace_unavailable' });
    expect(existsSync(dir)).toBe(false);
    mkdirSync(dir);
    await resume(task);
    const { status, attention } = await farm.until(task);
    expect([status, attention]).toEqual(['completed', []]);
    expect(readFileSync(join(dir, 'b.txt'), 'utf8')).toBe('b.txt\n');
  });

  it('H27 lets the members of a team work in it one after another, and has all of it in the Result', async () => {
    const dir = aFolder('shared');
    const { task_id: task } = await farm.client.call(taskStart, {
      workflow_id: 'pair',
      prompt: 'Go.',
      workspace: { host: 'build1', path: dir },
    });
    const { result } = await farm.until(task, ['completed', 'paused']);
    expect(result?.files_changed).toMatchObject([{ path: 'shared.txt', status: 'added', additions: 2 }]);
    expect(readFileSync(join(dir, 'shared.txt'), 'utf8').split('\n').sort()).toEqual(['', 'one', 'two']);
    expect(result?.unmerged).toEqual([]);
  });

  it('is started by two flags, which go together and without another source', async () => {
    const cli = (...words: readonly string[]) =>
      runCli(['task', 'start', ...words], { env: { LONGSHORE_CREDENTIAL: join(farm.data, 'credential.json') } });
    expect((await cli('--host', 'build1', 'x')).exit).toBe(2);
    expect((await cli('--host', 'build1', '--workspace', '/srv', '--empty', 'x')).exit).toBe(2);
    const started = await cli('--host', 'nobody', '--workspace', '/srv/app', 'x');
    expect(started.stderr).toContain('No machine that is here has the label host:nobody');
    const both = { source: { kind: 'empty' }, repository: { url: 'https://example.org/x' } };
    const refused = farm.client.call(taskStart, { prompt: 'x', workspace: { host: 'a', path: '/b' }, ...both });
    await expect(refused).rejects.toMatchObject({ problem: { code: 'invalid_input' } });
  });
});
