import { FarmError } from '#contracts';
import type { Database } from '#store';
import type { Call, Operation, ReadInput } from '../operation.js';
import { proposalOf } from './proposal.js';

/** A mutation by a person that may not be undone needs `confirm`; protocol calls are never proposals (A6.1, A12.18). */
export function needsConfirmation(operation: Operation<unknown>, call: Call<unknown>, confirm: boolean): boolean {
  const { class: cls, consent } = operation.access;
  if (cls !== 'mutate') return false;
  if (call.principal.kind !== 'person') return true;
  return consent === 'ask' && !confirm;
}

/** Says what the call would do, and that nothing was done (A6.2). The preview can not write. */
export async function propose<Services>(
  operation: Operation<Services>,
  read: ReadInput<Services>,
  call: Call<Services>,
  database: Database,
  shown: number,
): Promise<never> {
  const { preview } = read;
  const proposal = preview && proposalOf(await database.reading((tx) => preview(call, tx)), shown);
  throw new FarmError('confirmation_required', proposal?.summary ?? `This would run ${operation.name}`, {
    hint: 'Call it again with `confirm: true` (`--yes` at the command line).',
    ...(proposal && { proposal }),
  });
}
