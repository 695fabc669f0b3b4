import type { MemberChange, NewMember } from '#contracts';

type Fields = Omit<NewMember, 'children'>;

/** Of one member, without those below it: what a patch makes of it. Omitted: stays. Null: cleared. */
export function patchedFields<Before extends Fields>(before: Before, patch: MemberChange): Fields {
  const { title, description, instruction, provider, capabilities } = { ...before, ...named(patch) };
  return definedFields({ title, description, instruction, provider, capabilities });
}

/** The fields that say something, in the order of the document. */
export function definedFields({ title, description, instruction, provider, capabilities }: MemberChange): Fields {
  return {
    ...(isSaid(title) && { title }),
    ...(isSaid(description) && { description }),
    ...(isSaid(instruction) && { instruction }),
    ...(isSaid(provider) && { provider }),
    ...(isSaid(capabilities) && { capabilities }),
  };
}

function isSaid<Value>(value: Value): value is NonNullable<Value> {
  return value !== undefined && value !== null;
}

/** A field that is there and undefined is not named. */
function named(patch: MemberChange): MemberChange {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
}
