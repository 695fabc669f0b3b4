import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';

/** One mistake of a document; the line counts from 1. */
export interface Mistake {
  readonly line: number;
  readonly message: string;
}

export type CheckedYaml<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/**
 * Reads YAML and checks it against a schema; names all mistakes at once. An empty document is an empty map; one that can not be
 * read to its end is a mistake, so that nothing it says is silently dropped.
 */
export function readCheckedYaml<T>(source: string, schema: z.ZodType<T>): CheckedYaml<T> {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    return failed(document.errors.map(({ pos, message }) => ({ line: lines.linePos(pos[0]).line, message })));
  }
  const content = contentOf(document);
  if (!content.readable)
    return failed([
      { line: 1, message: 'document: can not be read: it repeats itself too often, or an alias has no anchor' },
    ]);
  const parsed = schema.safeParse(content.value ?? {});
  if (parsed.success) return { ok: true, value: parsed.data };
  const { issues } = parsed.error;
  // What has an unknown key often lacks a known one for it; say it once.
  const unknown = new Set(
    issues.filter((issue) => issue.code === 'unrecognized_keys').map((issue) => issue.path.join('.')),
  );
  const line = (path: readonly PropertyKey[], key?: string) => lines.linePos(offsetOf(document, path, key)).line;
  return failed(
    issues
      .filter((issue) => issue.code !== 'custom' || !unknown.has(issue.path.join('.')))
      .flatMap((issue) =>
        issue.code === 'unrecognized_keys'
          ? issue.keys.map((key) => ({ line: line(issue.path, key), message: `There is no ${key} here` }))
          : [
              {
                line: line(issue.path),
                message: `${issue.path.map(String).join('.') || 'document'}: ${issue.message}`,
              },
            ],
      ),
  );
}

function failed(mistakes: readonly Mistake[]): { readonly ok: false; readonly mistakes: readonly Mistake[] } {
  return { ok: false, mistakes: mistakes.toSorted((a, b) => a.line - b.line) };
}

/** Too many aliases make `toJS` throw: a document that grows without end is none. */
function contentOf(
  document: Document,
): { readonly readable: true; readonly value: unknown } | { readonly readable: false } {
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return { readable: true, value };
  } catch {
    return { readable: false };
  }
}

/** Where a path stands in the text; the nearest node above it where it is missing. */
function offsetOf(document: Document, path: readonly PropertyKey[], key?: string): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (key !== undefined && isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key);
      if (isNode(pair?.key) && pair.key.range) return pair.key.range[0];
    }
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}
