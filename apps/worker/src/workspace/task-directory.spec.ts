import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { DispatchPayload } from '#contracts';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { clearTaskDirectory, renderTaskDirectory } from './task-directory.js';

const written = { manifest: '# The team\n', workflow_note: 'Mind the tests.\n' };

const payload: DispatchPayload = {
  task_id: 't_0a1b2c3d',
  member_id: 'mender',
  title: 'Mend the test',
  provider: 'scripted',
  base: '0'.repeat(40),
  task_directory: '.longshore/t_0a1b2c3d',
  isolation: { required: [], allow_fallback: false },
};

describe('the Task directory', () => {
  it('holds the manifest, the note and the folders of the member', async () => {
    const workspace = tempDir();
    await renderTaskDirectory(workspace, payload, written);
    await renderTaskDirectory(workspace, payload, written);
    const at = join(workspace, payload.task_directory);
    expect(readdirSync(at).sort()).toEqual(['artifacts', 'manifest.md', 'notes', 'workflow-note.md']);
    expect(readFileSync(join(at, 'manifest.md'), 'utf8')).toBe(written.manifest);
    expect(statSync(join(at, 'notes', 'mender')).isDirectory()).toBe(true);
  });

  it('R7 holds the manifest of the Dispatch that begins, also where a workspace is kept that knew another team', async () => {
    const workspace = tempDir();
    await renderTaskDirectory(workspace, payload, written);
    const at = join(workspace, payload.task_directory);
    writeFileSync(join(at, 'manifest.md'), 'what a member made of it');
    writeFileSync(join(at, 'notes', 'mender', 'kept.md'), 'mine');
    await clearTaskDirectory(workspace, payload.task_directory);
    await renderTaskDirectory(workspace, payload, { manifest: '# Another team\n' });
    expect(readFileSync(join(at, 'manifest.md'), 'utf8')).toBe('# Another team\n');
    expect(existsSync(join(at, 'workflow-note.md'))).toBe(false);
    expect(readFileSync(join(at, 'notes', 'mender', 'kept.md'), 'utf8')).toBe('mine');
  });

  it("leaves the repository's own .longshore as it is", async () => {
    const workspace = tempDir();
    mkdirSync(join(workspace, '.longshore', 'agents'), { recursive: true });
    writeFileSync(join(workspace, '.longshore', 'agents', 'own.md'), 'own');
    await renderTaskDirectory(workspace, payload, written);
    expect(readFileSync(join(workspace, '.longshore', 'agents', 'own.md'), 'utf8')).toBe('own');
  });

  it.each([
    ['.longshore', '.longshore'],
    ['the Task directory', '.longshore/t_0a1b2c3d'],
    ['its notes', '.longshore/t_0a1b2c3d/notes'],
    ["a member's notes", '.longshore/t_0a1b2c3d/notes/mender'],
  ])('H21 writes nothing through a symlink at %s', async (_, link) => {
    const [workspace, outside] = [tempDir('workspace'), tempDir('outside')];
    mkdirSync(join(workspace, link, '..'), { recursive: true });
    symlinkSync(outside, join(workspace, link));
    await expect(renderTaskDirectory(workspace, payload, written)).rejects.toMatchObject({ code: 'invalid_task_path' });
    expect(readdirSync(outside)).toEqual([]);
  });

  it('H21 writes no manifest through a symlink', async () => {
    const [workspace, outside] = [tempDir('workspace'), tempDir('outside')];
    mkdirSync(join(workspace, payload.task_directory), { recursive: true });
    symlinkSync(join(outside, 'written'), join(workspace, payload.task_directory, 'manifest.md'));
    await renderTaskDirectory(workspace, payload, written);
    expect(existsSync(join(outside, 'written'))).toBe(false);
  });

  it.each(['.longshore', '../t_0a1b2c3d', '.longshore/t_0a1b2c3d/..', 'src'])(
    'H21 takes no other name: %s',
    async (name) => {
      const workspace = tempDir();
      await expect(renderTaskDirectory(workspace, { ...payload, task_directory: name }, written)).rejects.toMatchObject(
        {
          code: 'invalid_task_path',
        },
      );
      expect(readdirSync(workspace)).toEqual([]);
    },
  );
});
