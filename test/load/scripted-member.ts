import { stringify } from 'yaml';

/** What a script does in a later turn. */
export interface Round {
  readonly when: { readonly continuation: string; readonly told?: string };
  readonly steps: readonly object[];
}

/** A step that calls a member operation. */
export const call = (operation: string, input: object) => ({ call: { operation, input } });

/** A member of a workflow that follows this script. */
export function scriptedMember(id: string, steps: readonly object[], rounds: readonly Round[]) {
  const script = stringify({ steps, ...(rounds.length === 0 ? {} : { rounds }) });
  return { id, provider: { kind: 'scripted' }, instruction: `\`\`\`yaml longshore-script\n${script}\`\`\`\n` };
}
