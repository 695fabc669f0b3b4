import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import type { Command } from 'commander';
import { FarmError, systemCodeOf, taskDiff } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { plainText } from '../../output/terminal-text.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** `task diff`: what a Task has changed, for reading; terminal sequences of the content never reach the terminal (H38). */
export function addTaskDiff(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'diff'])
    .description(taskDiff.summary)
    .argument('<task_id>')
    .option('--stat', 'files and numbers only');
  runs<{ stat?: boolean }>(command, frame, async (run, { stat }, [task_id]) => {
    const { screen, surroundings } = run;
    const input = readInput(taskDiff, argumentFields(taskDiff), { task_id, stat: stat === true }, undefined);
    const answer = await (await run.client()).call(taskDiff, input, { signal: surroundings.signal });
    screen.answer(answer);
    if (answer.files_changed === 0) screen.say('no files were changed');
    else screen.show(plainText(answer.text).trimEnd());
    if (answer.truncated) screen.say(`the diff is longer: longshore task patch ${task_id} has all of it`);
  });
}

/** `task patch`: a mailbox for `git am`, byte for byte; to a terminal it goes only when it is named as a file. */
export function addTaskPatch(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'patch'])
    .description('What a Task changed, as patches for `git am`; on stdout, or into a file.')
    .argument('<task_id>')
    .option('-o, --output <file>', 'a new file');
  runs<{ output?: string; json?: boolean }>(command, frame, async (run, { output, json }, [given]) => {
    const { screen, surroundings } = run;
    const { task_id: taskId } = taskDiff.input.parse(
      readInput(taskDiff, argumentFields(taskDiff), { task_id: given }, undefined),
    );
    const { stdout, cwd, signal } = surroundings;
    if (output === undefined && (stdout.isTTY === true || json === true)) {
      throw new FarmError('invalid_input', 'Patches are bytes for git and not for a terminal or for JSON.', {
        hint: `Write them into a file with --output FILE, or read them: longshore task diff ${taskId}`,
      });
    }
    const client = await run.client();
    if (output === undefined) return await client.getPatch(taskId, stdout, signal);
    const path = resolve(cwd, output);
    const file = (await newFile(path)).createWriteStream();
    await client.getPatch(taskId, file, signal);
    file.end();
    await finished(file);
    screen.answer({ task_id: taskId, path });
    screen.say(`git am ${output} applies it to the commit that the Task started from`);
  });
}

async function newFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o644);
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
    throw new FarmError('conflict', 'There is a file of this name already; it was not touched.');
  }
}
