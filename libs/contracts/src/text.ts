import { z } from 'zod';
import { limits } from './limits.js';

const bytes = new TextEncoder();

/** Length in UTF-8 bytes. */
export function utf8Length(text: string): number {
  return bytes.encode(text).length;
}

/** True when PostgreSQL can hold the text: no NUL, no lone surrogate (H13). */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** The characters that XML 1.0 forbids, other than those that `isStorable` finds already. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that the rule forbids
const illegalInXml = /[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/;

/** Text that is stored as it is. */
export const storable = (maxBytes: number) =>
  z
    .string()
    .refine(isStorable, { params: { rule: 'storable' } })
    .refine((text) => utf8Length(text) <= maxBytes, { params: { rule: `max_bytes:${maxBytes}` } });

/** Prose of people and members: line ends become LF, blank is refused, nothing else changes. */
export const prose = (maxCharacters: number) =>
  z
    .string()
    .transform((text) => text.replace(/\r\n?/g, '\n'))
    .pipe(
      z
        .string()
        .max(maxCharacters)
        .refine((text) => text.trim() !== '', { params: { rule: 'blank' } })
        .refine((text) => isStorable(text) && !illegalInXml.test(text), { params: { rule: 'storable' } }),
    );

/** Prose with a limit in UTF-8 bytes. */
export const proseBytes = (maxBytes: number) =>
  prose(maxBytes).refine((text) => utf8Length(text) <= maxBytes, { params: { rule: `max_bytes:${maxBytes}` } });

/** Nesting of free JSON at most: deeper values would exhaust the stack of whoever walks them. */
const jsonDepth = 64;

/** JSON that PostgreSQL can hold, with a limit on its serialised size (H13). */
export const storableJson = (maxBytes: number) =>
  z
    .unknown()
    .refine(isStorableJson, { params: { rule: 'storable_json' }, abort: true })
    .refine((value) => utf8Length(JSON.stringify(value)) <= maxBytes, {
      params: { rule: `max_bytes:${maxBytes}` },
      abort: true,
    })
    .pipe(z.json());

/** Without recursion: the depth is what is being checked. */
function isStorableJson(root: unknown): boolean {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value === 'string' && !isStorable(value)) return false;
    if (value === null || typeof value !== 'object') continue;
    if (depth >= jsonDepth) return false;
    for (const [key, member] of Object.entries(value)) {
      if (!isStorable(key)) return false;
      open.push({ value: member, depth: depth + 1 });
    }
  }
  return true;
}

const forbiddenInPath = /[\\\0*?[\]]|^[A-Za-z][A-Za-z0-9+.-]*:/;

/** A path relative to the workspace, with `/`, without `.`, `..`, globs, drives or schemes (§8.3 of the team rules, I22). */
export const RelativePath = z
  .string()
  .refine(
    (path) =>
      path !== '' &&
      utf8Length(path) <= limits.pathBytes &&
      isStorable(path) &&
      !forbiddenInPath.test(path) &&
      path.split('/').every((part) => part !== '' && part !== '.' && part !== '..'),
    { params: { rule: 'relative_path' } },
  );

/** A navigation value: never a file id, a copy or a permission. */
export const FileReference = z.strictObject({
  path: RelativePath.describe('relative path in the workspace, with / and without . or .. in it'),
  description: prose(limits.fileDescription).optional().describe('what it is, or what to look at in it'),
});
export type FileReference = z.output<typeof FileReference>;

export const FileReferences = z
  .array(FileReference)
  .max(limits.files)
  .refine((files) => new Set(files.map((file) => file.path)).size === files.length, {
    params: { rule: 'unique_paths' },
  })
  .describe('files of the workspace that matter here');
