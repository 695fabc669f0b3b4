/**
 * The words of an operation at the command line: its group, then the rest with hyphens (A9.1); where both are the same, the one
 * word (A9.2). `mail.fetch_new` of group `mail` is `mail fetch-new`: a plugin's dot separates as an underscore does.
 */
export function commandWords(operation: { readonly name: string; readonly group: string }): readonly string[] {
  const { name, group } = operation;
  if (name === group) return [hyphens(name)];
  const rest = name.startsWith(group) ? name.slice(group.length + 1) : name;
  return [hyphens(group), hyphens(rest)];
}

const hyphens = (text: string) => text.replaceAll('_', '-');
