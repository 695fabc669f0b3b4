import { type InputOf, newId, type OutputOf, startCommandRun } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { nameRun } from '../command-run/name-run.js';
import { outputPath } from '../command-run/output-path.js';
import { handOver } from '../handover/hand-over.js';
import type { TeamParts } from '../parts.js';

/** Has a command run and hands over: the member goes on with what it came to. */
export function startCommand(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
  input: InputOf<typeof startCommandRun>,
): Promise<OutputOf<typeof startCommandRun>> {
  return handOver(parts, tx, caller, {
    operation: startCommandRun.name,
    input,
    reply: startCommandRun.output,
    async reserve({ task }) {
      const name = await nameRun(parts, tx);
      return {
        body: { kind: 'command_run', id: newId(), name, request: input.request },
        reply: { command_id: name, status: 'pending_start', output_path: outputPath(task.id, name), must_stop: true },
      };
    },
  });
}
