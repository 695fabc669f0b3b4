import { isAbsolute } from 'node:path';
import { z } from 'zod';

/** One setting: its key in longshore.toml, its variable, and what it may hold. */
export interface Setting<T> {
  /** `table.key`. */
  readonly key: string;
  readonly variable: string;
  readonly value: z.ZodType<T>;
  /** What a variable's text stands for, before `value` looks at it. */
  readonly fromText: (text: string) => unknown;
  /** Holds where neither file nor environment says anything. */
  readonly initial: T;
  /** Ends the sentence "<key> must be …". */
  readonly rule: string;
  /** What may be shown of it. Default: itself. */
  readonly shown?: (value: T) => string;
}

/** Something that stands in no configuration file: in the environment, or in a file of its own that is named. */
export interface Secret {
  /** `table.key` of the file's name. */
  readonly key: string;
  readonly variable: string;
  readonly fileVariable: string;
}

type Place<T> = Pick<Setting<T>, 'key' | 'variable'>;

const asItIs = (text: string): unknown => text;

export function wholeNumber(
  place: Place<number>,
  { low, high, initial }: { readonly low: number; readonly high: number; readonly initial: number },
): Setting<number> {
  return {
    ...place,
    value: z.int().min(low).max(high),
    fromText: (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text),
    initial,
    rule: `a whole number from ${low} to ${high}`,
  };
}

export function yesOrNo(place: Place<boolean>, initial = false): Setting<boolean> {
  const meant: Readonly<Record<string, boolean>> = { 0: false, 1: true, false: false, true: true };
  return {
    ...place,
    value: z.boolean(),
    fromText: (text) => (Object.hasOwn(meant, text) ? meant[text] : text),
    initial,
    rule: 'true or false (in the environment 1 or 0)',
  };
}

export function oneOf<const Names extends readonly string[]>(
  place: Place<Names[number]>,
  names: Names,
  initial: Names[number],
): Setting<Names[number]> {
  return { ...place, value: z.enum(names), fromText: asItIs, initial, rule: `one of ${names.join(', ')}` };
}

export function text(place: Place<string>, initial: string): Setting<string> {
  return { ...place, value: z.string().min(1), fromText: asItIs, initial, rule: 'a text that is not empty' };
}

/** Something that is used only where it is set. */
export function maybe(place: Place<string | undefined>, rule: string, value: z.ZodType<string> = z.string().min(1)) {
  const setting: Setting<string | undefined> = { ...place, value, fromText: asItIs, initial: undefined, rule };
  return setting;
}

/** A list; in the environment with commas between. */
export function list(
  place: Place<readonly string[]>,
  each: (entry: string) => boolean,
  rule: string,
): Setting<readonly string[]> {
  return {
    ...place,
    value: z.array(z.string().refine(each)),
    fromText: (given) => given.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()])),
    initial: [],
    rule,
  };
}

export const absolutePaths = (place: Place<readonly string[]>) =>
  list(place, (path) => isAbsolute(path), 'a list of absolute paths');
