import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { z } from 'zod';
import { aController, type TestController } from '../../../../../test/support/a-controller.js';
import { operations } from '../../operations/catalogue.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

const Schema = z.record(z.string(), z.unknown());
const Listing = z.object({
  operations: z.array(
    z.looseObject({ name: z.string(), class: z.string(), input_schema: Schema, output_schema: Schema }),
  ),
});
const Body = z.object({ content: z.object({ 'application/json': z.object({ schema: Schema }) }) });
const Document = z.looseObject({
  openapi: z.string(),
  jsonSchemaDialect: z.string(),
  paths: z.record(
    z.string(),
    z.object({ post: z.looseObject({ requestBody: Body, responses: z.looseObject({ 200: Body }) }) }),
  ),
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const look = (path: string, extra: Record<string, string> = {}) =>
  farm.fetch(path, { headers: { ...bearer(farm.admin.token), ...extra } });
const listed = async () => Listing.parse((await look('/v1/operations')).body).operations;
const documented = async () => Document.parse((await look('/v1/openapi.json')).body);

/** The schema of the envelope's member, without the name that it has as a part of the document. */
function schemaIn(body: z.output<typeof Body>, member: string) {
  const { properties } = z
    .object({ properties: z.record(z.string(), Schema) })
    .parse(body.content['application/json'].schema);
  const { $id: _, ...schema } = properties[member] ?? {};
  return schema;
}

describe('what may be called', () => {
  it('A10.1 is one set of operations with one pair of schemas, as a list, as OpenAPI and as it runs', async () => {
    const [list, { paths }] = [await listed(), await documented()];
    const forPersons = operations.filter(
      ({ access }) => access.catalogue === 'operator' || access.catalogue === 'admin',
    );
    expect(list.map(({ name }) => name).sort()).toEqual(forPersons.map(({ name }) => name).sort());
    expect(Object.keys(paths).sort()).toEqual(list.map(({ name }) => `/v1/operations/${name}`).sort());
    for (const { name, input_schema } of list) {
      const unknown = await farm.admin.ask(name, { 'no such field': 1 });
      expect({ name, status: unknown.status }).toEqual({ name, status: 422 });
      expect(input_schema).toMatchObject({ type: 'object', additionalProperties: false });
    }
  });

  it('S3.1 is a document that the official schema of OpenAPI 3.1 takes, with the schemas of the list unchanged', async () => {
    const raw = z.record(z.string(), z.unknown()).parse((await look('/v1/openapi.json')).body);
    const document = Document.parse(raw);
    expect(document).toMatchObject({
      openapi: '3.1.0',
      jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    });
    const validator = new Validator();
    expect(await validator.validate(structuredClone(raw))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    for (const { name, input_schema, output_schema } of await listed()) {
      const post = document.paths[`/v1/operations/${name}`]?.post;
      if (!post) throw new Error(`${name} is not in the document`);
      expect(schemaIn(post.requestBody, 'input')).toEqual(input_schema);
      expect(schemaIn(post.responses[200], 'result')).toEqual(output_schema);
    }
  });

  it('is told with a strong ETag: the same bytes again, or that nothing has changed', async () => {
    for (const path of ['/v1/operations', '/v1/openapi.json']) {
      const first = await look(path);
      const tag = first.headers.get('etag') ?? '';
      expect(tag).toMatch(/^"[\w-]{43}"$/);
      expect((await look(path)).headers.get('etag')).toBe(tag);
      for (const known of [tag, `"other", W/${tag}`, '*']) {
        const again = await look(path, { 'if-none-match': known });
        expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', tag]);
      }
      expect((await look(path, { 'if-none-match': '"other"' })).status).toBe(200);
      expect(first.headers.get('cache-control')).toBe('private, no-cache');
    }
  });
});
