import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { FarmError, limits } from '#contracts';

const formats = ['date', 'date-time', 'email', 'time', 'uri', 'uuid'] as const;

/** What makes a schema cost more than it says, or read from elsewhere. */
const forbidden = new Set([
  '$ref',
  '$dynamicRef',
  '$recursiveRef',
  '$anchor',
  '$dynamicAnchor',
  '$id',
  'pattern',
  'patternProperties',
]);

/**
 * A check for answers by a JSON Schema 2020-12 of a member: of bounded depth and size, with six formats, without references and
 * without regular expressions, which a stranger could make as slow as they like.
 *
 * @throws FarmError `invalid_input` at `path`
 */
export function compileSchema(schema: unknown, path: string): ValidateFunction {
  checkShape(schema, path);
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateSchema: true, logger: false });
  addFormats.default(ajv, [...formats]);
  try {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw refused(path, 'type:object');
    return ajv.compile(schema);
  } catch (error) {
    if (error instanceof FarmError) throw error;
    throw refused(path, 'json_schema_2020_12');
  }
}

function checkShape(root: unknown, path: string): void {
  const open = [{ value: root, depth: 1, names: false }];
  let collections = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth, names } = next;
    if (typeof value !== 'object' || value === null) continue;
    collections += 1;
    if (depth > limits.humanSchemaDepth) throw refused(path, `max_depth:${limits.humanSchemaDepth}`);
    if (collections > limits.humanSchemaCollections)
      throw refused(path, `max_collections:${limits.humanSchemaCollections}`);
    for (const [key, inner] of Object.entries(value)) {
      // below `properties` the keys are names of the answer's own
      if (!names && !Array.isArray(value) && forbidden.has(key)) throw refused(path, `keyword:${key}`);
      if (!names && key === 'format' && !formats.some((known) => known === inner)) throw refused(path, 'format');
      open.push({ value: inner, depth: depth + 1, names: !names && (key === 'properties' || key === '$defs') });
    }
  }
}

function refused(path: string, rule: string): FarmError {
  return new FarmError('invalid_input', 'The schema of an answer is not one that the farm can check.', {
    fields: [{ path, rule }],
    hint: `JSON Schema 2020-12 as an object, formats ${formats.join(', ')}, no references and no patterns.`,
  });
}
