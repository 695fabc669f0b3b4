import type { z } from 'zod';
import type { DispatchRequest } from '#contracts';
import {
  checkpointText,
  commandRunText,
  continuationText,
  contributorText,
  coreText,
  filesText,
  leadText,
  managerText,
} from './instructions.js';
import { renderManifest } from './manifest.js';
import type { Picture } from './picture.js';
import { document, element } from './xml.js';

/**
 * The two lanes of a prompt, rendered once and kept (I6). Order and shape follow §7.9 of the team rules: the controller's facts go
 * before the Assignment, that before the member's own instruction, that before the workflow's note. The same picture gives the
 * same bytes.
 */
export function renderRequest(picture: Picture): z.output<typeof DispatchRequest> {
  const { current_member: self, workspace } = picture;
  const instructions = document('longshore_system', [
    element('core', coreText),
    element('workspace_and_files', filesText(workspace)),
    element('checkpoint', checkpointText),
    self.position === 'task_lead' ? element('task_lead', leadText) : '',
    element(self.behavior, self.behavior === 'manager' ? managerText : contributorText),
    self.effective_capabilities.command_run === 'allow' ? element('command_run', commandRunText) : '',
    picture.continuation === null ? '' : element('continuation', continuationText),
    element('member_instruction', self.instruction),
    element('workflow_note', picture.note),
  ]);
  const input = document('longshore_dispatch_request', [
    element('task', picture.task),
    element('dispatch', picture.dispatch),
    element('current_member', { ...self, effective_capabilities: { ...self.effective_capabilities } }),
    element('assignment', { ...picture.assignment, files: picture.assignment.files.map((file) => ({ ...file })) }),
    element('steering', picture.steering),
    element('continuation', asXml(picture.continuation)),
    element(
      'direct_team',
      picture.direct_team.map((mate) => ({ ...mate })),
    ),
    element('work_plan', asXml(picture.work_plan)),
    element('available_actions', picture.available_actions),
    element('workspace', workspace),
  ]);
  return {
    instructions,
    input,
    manifest: renderManifest(picture),
    ...(picture.note === null ? {} : { workflow_note: picture.note }),
  };
}

type Xml = Parameters<typeof element>[1];

/** JSON is what these are; only its types are wider. */
function asXml(value: unknown): Xml {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(asXml);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, asXml(inner)]));
}
