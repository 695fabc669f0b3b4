import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parse, TomlError } from 'smol-toml';
import { FarmError, systemCodeOf } from '#contracts';
import { linesOfKeys } from './toml-lines.js';

/** What a configuration file says, and where. */
export interface TomlFile {
  readonly path: string;
  /** sha256 of its bytes, hex. */
  readonly hash: string;
  readonly content: Readonly<Record<string, unknown>>;
  /** `table.key` → line, where it is to be found. */
  readonly lines: ReadonlyMap<string, number>;
}

/** Errors: FarmError misconfigured where it can not be read or is no TOML (A3c.5). A file that need not be there may be missing. */
export async function readTomlFile(path: string, needed: boolean): Promise<TomlFile | undefined> {
  const text = await readText(path, needed);
  if (text === undefined) return undefined;
  const hash = createHash('sha256').update(text).digest('hex');
  return { path, hash, content: contentOf(path, text), lines: linesOfKeys(text) };
}

async function readText(path: string, needed: boolean): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (!needed && systemCodeOf(cause) === 'ENOENT') return undefined;
    throw new FarmError('misconfigured', `The configuration file ${path} can not be read`, { cause });
  }
}

function contentOf(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text, { useLegacyDate: true, unsafeKeyBehaviour: 'throw' });
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    // The lines of its message after the first one quote the file.
    const [reason = ''] = cause.message.replace('Invalid TOML document: ', '').split('\n');
    throw new FarmError('misconfigured', `${path}:${cause.line}: this is no valid TOML: ${reason}`, {
      hint: 'Texts stand in quotes. Under [mcp.allowed] a name with a dot does, too: "my_plugin.wipe" = false.',
    });
  }
}

export function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
