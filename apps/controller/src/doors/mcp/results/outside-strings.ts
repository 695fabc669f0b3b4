import { z } from 'zod';
import { isOutsideText } from '#contracts';

/** What is done to a string; a key of a free object is one, too. */
type Replace = (text: string) => string;

/** Answers the value with each string from outside replaced; the value itself where there is none. */
export type Walk = (value: unknown, replace: Replace) => unknown;

/**
 * The walk to the strings of a schema's values that come from outside (A8.5); nothing where the schema marks none, so that most
 * answers are not walked at all. Made once per operation.
 */
export function outsideStrings(schema: z.core.$ZodType): Walk | undefined {
  return walkOf(schema, new Map());
}

type Known = Map<z.core.$ZodType, { walk: Walk | undefined }>;

function walkOf(schema: z.core.$ZodType, known: Known): Walk | undefined {
  if (isOutsideText(schema)) return everyString;
  if (!holdsMark(schema, new Set())) return undefined;
  const before = known.get(schema);
  // A schema that holds itself has its walk by the time that a value is walked.
  if (before) return (value, replace) => (before.walk ? before.walk(value, replace) : value);
  const entry: { walk: Walk | undefined } = { walk: undefined };
  known.set(schema, entry);
  entry.walk = walkInto(schema, known);
  return entry.walk;
}

function holdsMark(schema: z.core.$ZodType, seen: Set<z.core.$ZodType>): boolean {
  if (isOutsideText(schema)) return true;
  if (seen.has(schema)) return false;
  seen.add(schema);
  return partsOf(schema).some((part) => holdsMark(part, seen));
}

function partsOf(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  const inner = innerOf(schema);
  if (inner) return [inner];
  if (schema instanceof z.ZodPipe) return [schema.def.in, schema.def.out];
  if (schema instanceof z.ZodUnion) return schema.def.options;
  if (schema instanceof z.ZodObject) return Object.values<z.core.$ZodType>(schema.shape);
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodRecord) return [schema.valueType];
  return schema instanceof z.ZodTuple ? schema.def.items : [];
}

/** Of what only wraps. */
function innerOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return schema.def.innerType;
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodReadonly || schema instanceof z.ZodCatch)
    return schema.def.innerType;
  return schema instanceof z.ZodLazy ? schema.def.getter() : undefined;
}

function walkInto(schema: z.core.$ZodType, known: Known): Walk | undefined {
  const inner = innerOf(schema);
  if (inner) return walkOf(inner, known);
  if (schema instanceof z.ZodPipe) return walkOf(schema.def.out, known) ?? walkOf(schema.def.in, known);
  if (schema instanceof z.ZodUnion) return unionWalk(schema.def.options, known);
  if (schema instanceof z.ZodObject) return objectWalk(schema, known);
  if (schema instanceof z.ZodArray) return arrayWalk(walkOf(schema.element, known));
  if (schema instanceof z.ZodRecord) return recordWalk(walkOf(schema.valueType, known));
  if (schema instanceof z.ZodTuple) return tupleWalk(schema.def.items.map((item) => walkOf(item, known)));
  return undefined;
}

/** Which option a value is of, the schema says; a value that none takes is outside text altogether. */
function unionWalk(options: readonly z.core.$ZodType[], known: Known): Walk | undefined {
  const walks = options.map((option) => ({ option, walk: walkOf(option, known) }));
  if (walks.every(({ walk }) => walk === undefined)) return undefined;
  return (value, replace) => {
    const found = walks.find(({ option }) => z.safeParse(option, value).success);
    if (!found) return everyString(value, replace);
    return found.walk ? found.walk(value, replace) : value;
  };
}

function objectWalk(schema: z.ZodObject, known: Known): Walk | undefined {
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  const walks = Object.entries(shape).flatMap(([name, member]) => {
    const walk = walkOf(member, known);
    return walk ? [{ name, walk }] : [];
  });
  if (walks.length === 0) return undefined;
  return (value, replace) => {
    if (!isObject(value)) return value;
    const changed: Record<string, unknown> = { ...value };
    for (const { name, walk } of walks) if (Object.hasOwn(value, name)) changed[name] = walk(value[name], replace);
    return changed;
  };
}

function arrayWalk(walk: Walk | undefined): Walk | undefined {
  if (!walk) return undefined;
  return (value, replace) => (Array.isArray(value) ? value.map((item) => walk(item, replace)) : value);
}

function recordWalk(walk: Walk | undefined): Walk | undefined {
  if (!walk) return undefined;
  return (value, replace) => {
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, walk(member, replace)]));
  };
}

function tupleWalk(walks: readonly (Walk | undefined)[]): Walk | undefined {
  if (walks.every((walk) => walk === undefined)) return undefined;
  return (value, replace) => (Array.isArray(value) ? value.map((item, n) => walks[n]?.(item, replace) ?? item) : value);
}

/** Names and numbers of things, which carry no sentence. */
const plainName = /^[\w.:/@+-]{0,64}$/;

/** In a value that is marked as a whole: its strings, and the keys of its free objects that are no plain names. */
const everyString: Walk = (value, replace) => {
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.map((item) => everyString(item, replace));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      plainName.test(key) ? key : replace(key),
      everyString(member, replace),
    ]),
  );
};

/** The same, for what may hold names and states beside texts: those are left readable. */
export const everyText: Walk = (value, replace) =>
  everyString(value, (text) => (plainName.test(text) ? text : replace(text)));

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
