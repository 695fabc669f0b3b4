import type { Command } from 'commander';
import type { Frame } from '../frame.js';
import { addTaskAnswer } from './answer/task-answer.js';
import { addCancelCommand } from './cancel-command.js';
import { addTaskCheckout } from './task-checkout.js';
import { addTaskControl } from './task-control.js';
import { addTaskGet } from './task-get.js';
import { addTaskList } from './task-list.js';
import { addTaskOutput } from './task-output.js';
import { addTaskDiff, addTaskPatch } from './task-patch.js';
import { addTaskPush } from './task-push.js';
import { addTaskStart } from './task-start.js';
import { addTaskSteer } from './task-steer.js';
import { addTaskWatch } from './task-watch.js';

/** The commands of a Task that need files, git or patience; `task events` and `task control` are generated beside them. */
export function addTask(program: Command, frame: Frame): void {
  addTaskStart(program, frame);
  addTaskList(program, frame);
  addTaskGet(program, frame);
  addTaskWatch(program, frame);
  addTaskAnswer(program, frame);
  addTaskSteer(program, frame);
  addTaskControl(program, frame, 'pause');
  addTaskControl(program, frame, 'resume');
  addTaskControl(program, frame, 'cancel');
  addTaskCheckout(program, frame);
  addTaskDiff(program, frame);
  addTaskPatch(program, frame);
  addTaskPush(program, frame);
  addTaskOutput(program, frame);
  addCancelCommand(program, frame);
}
