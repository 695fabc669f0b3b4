import { z } from 'zod';
import { FarmError, type FieldError, limits } from '#contracts';

/**
 * What does not fit, as (path, rule) only. zod leaks the caller's text in three places, closed here: names of unknown keys
 * become a count, keys of records in a path become `*`, messages are never read (A5.8).
 */
export function invalidInput(schema: z.ZodType, issues: readonly z.core.$ZodIssue[]): FarmError {
  const fields = issues.flatMap((issue) => fieldErrors(schema, issue, [])).slice(0, limits.fieldErrors);
  return new FarmError('invalid_input', undefined, { fields });
}

type Path = readonly PropertyKey[];

function fieldErrors(schema: z.ZodType, issue: z.core.$ZodIssue, above: Path): readonly FieldError[] {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys')
    return [{ path: pointer(schema, path), rule: 'unknown_field', count: issue.keys.length }];
  const [closest] = issue.code === 'invalid_union' ? [...issue.errors].sort(byDepth) : [];
  if (closest && closest.length > 0) return closest.flatMap((inner) => fieldErrors(schema, inner, path));
  return [{ path: pointer(schema, path), rule: ruleOf(issue) }];
}

/** Of a union's branches the one that was read the furthest says best what is wrong. */
function byDepth(a: readonly z.core.$ZodIssue[], b: readonly z.core.$ZodIssue[]): number {
  return depth(b) - depth(a);
}

function depth(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map((issue) => issue.path.length));
}

const ruleParameter = z.object({ rule: z.string() });

/** The schema's own words: bounds and members stand in the published schema anyway (A5.9). */
function ruleOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `type:${issue.expected}`;
    case 'too_big':
      return `max:${issue.maximum}`;
    case 'too_small':
      return `min:${issue.minimum}`;
    case 'invalid_format':
      return `format:${issue.format}`;
    case 'not_multiple_of':
      return `multiple_of:${issue.divisor}`;
    case 'invalid_value':
      return `one_of:${issue.values.map(String).join('|')}`;
    case 'invalid_union':
      return 'shape';
    case 'invalid_key':
      return 'key';
    case 'invalid_element':
      return 'element';
    case 'custom': {
      const named = ruleParameter.safeParse(issue.params);
      return named.success ? named.data.rule : 'invalid';
    }
    default:
      return 'invalid';
  }
}

/** A JSON pointer in which only names of the schema stand: anything else could be the caller's own text. */
function pointer(schema: z.ZodType, path: Path): string {
  const parts: string[] = [];
  let at: readonly z.core.$ZodType[] = [schema];
  for (const segment of path) {
    const step = stepInto(at, segment);
    parts.push(step.isNamed ? String(segment).replaceAll('~', '~0').replaceAll('/', '~1') : '*');
    at = step.next;
  }
  return parts.map((part) => `/${part}`).join('');
}

interface Step {
  readonly isNamed: boolean;
  readonly next: readonly z.core.$ZodType[];
}

function stepInto(schemas: readonly z.core.$ZodType[], segment: PropertyKey): Step {
  if (typeof segment === 'number') return { isNamed: true, next: schemas.flatMap(unwrap).flatMap(elementsOf) };
  const named = schemas.flatMap(unwrap).flatMap((schema) => membersOf(schema, segment));
  if (named.length > 0) return { isNamed: true, next: named };
  return { isNamed: false, next: schemas.flatMap(unwrap).flatMap(elementsOf) };
}

/** Through what only wraps: optional, default, pipe, union, lazy. */
function unwrap(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrap(schema.def.innerType);
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodReadonly || schema instanceof z.ZodCatch)
    return unwrap(schema.def.innerType);
  if (schema instanceof z.ZodPipe) return [...unwrap(schema.def.in), ...unwrap(schema.def.out)];
  if (schema instanceof z.ZodUnion) return schema.def.options.flatMap(unwrap);
  if (schema instanceof z.ZodLazy) return unwrap(schema.def.getter());
  return [schema];
}

function membersOf(schema: z.core.$ZodType, segment: PropertyKey): readonly z.core.$ZodType[] {
  if (!(schema instanceof z.ZodObject) || typeof segment !== 'string') return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  const member = Object.hasOwn(shape, segment) ? shape[segment] : undefined;
  return member ? [member] : [];
}

function elementsOf(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodRecord) return [schema.valueType];
  return [];
}
