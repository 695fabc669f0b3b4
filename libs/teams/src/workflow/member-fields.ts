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
    ...defined({ title }),
    ...defined({ description }),
    ...defined({ instruction }),
    ...defined({ provider }),
    ...defined({ capabilities }),
  };
}

/** A field that is there and undefined is not named. */
function named(patch: MemberChange): MemberChange {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
}

function defined<Given extends object>(fields: Given): { [Key in keyof Given]?: NonNullable<Given[Key]> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(entries) as { [Key in keyof Given]?: NonNullable<Given[Key]> };
}
