import type { Operation } from '#gate';
import type { Services } from '../../farm.js';
import { taskControlOperation } from './task-control.js';
import { taskEventsOperation } from './task-events.js';
import { taskGetOperation } from './task-get.js';
import { taskSearchOperation } from './task-search.js';
import { taskStartOperation } from './task-start.js';
import { workflowGetOperation } from './workflow-get.js';
import { workflowImportOperation } from './workflow-import.js';
import { workflowSearchOperation } from './workflow-search.js';

/** What people, and agents by grant, do with workflows and Tasks. */
export const operatorOperations: readonly Operation<Services>[] = [
  workflowImportOperation,
  workflowSearchOperation,
  workflowGetOperation,
  taskStartOperation,
  taskGetOperation,
  taskSearchOperation,
  taskControlOperation,
  taskEventsOperation,
];
