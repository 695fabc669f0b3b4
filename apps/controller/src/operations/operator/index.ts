import type { Operation } from '#gate';
import type { Services } from '../../farm.js';
import { commandRunCancelOperation } from './command-run-cancel.js';
import { commandRunGetOperation } from './command-run-get.js';
import { commandRunOutputReadOperation } from './command-run-output-read.js';
import { humanRequestAnswerLinkOperation } from './human-request-answer-link.js';
import { humanRequestRespondOperation } from './human-request-respond.js';
import { repoAddOperation } from './repo-add.js';
import { repoCheckOperation } from './repo-check.js';
import { repoListOperation } from './repo-list.js';
import { repoRemoveOperation } from './repo-remove.js';
import { taskControlOperation } from './task-control.js';
import { taskDiffOperation } from './task-diff.js';
import { taskEventsOperation } from './task-events.js';
import { taskGetOperation } from './task-get.js';
import { taskMemberSteerOperation } from './task-member-steer.js';
import { taskPushOperation } from './task-push.js';
import { taskSearchOperation } from './task-search.js';
import { taskStartOperation } from './task-start.js';
import { workflowAuthoringOptionsOperation } from './workflow-authoring-options.js';
import { workflowDraftCreateOperation } from './workflow-draft-create.js';
import { workflowDraftDiscardOperation } from './workflow-draft-discard.js';
import { workflowDraftEditOperation } from './workflow-draft-edit.js';
import { workflowDraftPublishOperation } from './workflow-draft-publish.js';
import { workflowDraftUndoOperation } from './workflow-draft-undo.js';
import { workflowDraftValidateOperation } from './workflow-draft-validate.js';
import { workflowGetOperation } from './workflow-get.js';
import { workflowImportOperation } from './workflow-import.js';
import { workflowRemoveOperation } from './workflow-remove.js';
import { workflowSearchOperation } from './workflow-search.js';

/** What people, and agents by grant, do with workflows and Tasks. */
export const operatorOperations: readonly Operation<Services>[] = [
  workflowImportOperation,
  workflowSearchOperation,
  workflowGetOperation,
  workflowAuthoringOptionsOperation,
  workflowDraftCreateOperation,
  workflowDraftEditOperation,
  workflowDraftValidateOperation,
  workflowDraftUndoOperation,
  workflowDraftDiscardOperation,
  workflowDraftPublishOperation,
  workflowRemoveOperation,
  repoAddOperation,
  repoCheckOperation,
  repoListOperation,
  repoRemoveOperation,
  taskStartOperation,
  taskGetOperation,
  taskSearchOperation,
  taskControlOperation,
  taskMemberSteerOperation,
  taskEventsOperation,
  taskDiffOperation,
  taskPushOperation,
  humanRequestRespondOperation,
  humanRequestAnswerLinkOperation,
  commandRunGetOperation,
  commandRunOutputReadOperation,
  commandRunCancelOperation,
];
