import type { Command } from 'commander';
import { workflowSchema } from '#contracts';
import { commandAt, type Frame, runs } from './frame.js';

/** `workflow schema`: for editors that do not ask the farm. */
export function addWorkflowSchema(program: Command, frame: Frame): void {
  const command = commandAt(program, ['workflow', 'schema']).description(
    'The JSON Schema of workflow documents, for editors; the farm serves it, too.',
  );
  runs(command, frame, async ({ screen }) => {
    const schema = workflowSchema();
    screen.answer(schema);
    screen.show(JSON.stringify(schema, null, 2));
  });
}
