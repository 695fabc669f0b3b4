/** Where each `table.key` of a TOML text stands, as far as a look at its lines tells. For messages only. */
export function linesOfKeys(toml: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  let table = '';
  for (const [index, line] of toml.split('\n').entries()) {
    const header = /^\s*\[+\s*([^\]]+?)\s*\]/.exec(line)?.[1];
    if (header !== undefined) table = plain(header);
    const key = /^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-])+(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=/.exec(
      line,
    )?.[1];
    if (key === undefined) continue;
    const path = table === '' ? plain(key) : `${table}.${plain(key)}`;
    if (!lines.has(path)) lines.set(path, index + 1);
  }
  return lines;
}

const plain = (key: string): string => key.replaceAll(/["'\s]/g, '');
