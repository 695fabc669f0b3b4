import type { Command } from 'commander';
import { taskOverview } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { commandAt, type Frame, runs } from '../frame.js';
import { followTask } from './follow-task.js';

export function addTaskWatch(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'watch'])
    .description('Show the work of a Task as it happens, until it ends; then its Result.')
    .argument('<task_id>');
  runs(command, frame, async (run, _options, [taskId = '']) => {
    readInput(taskOverview, argumentFields(taskOverview), { task_id: taskId }, undefined);
    await followTask(run, taskId);
  });
}
