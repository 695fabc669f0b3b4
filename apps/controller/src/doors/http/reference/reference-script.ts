import { fastify } from 'fastify';

let kept: Promise<string> | undefined;

/** The script that draws an OpenAPI document: part of a package, so no other host is asked. Read when somebody first looks. */
export function referenceScript(): Promise<string> {
  kept ??= read();
  return kept;
}

/** The package hands it out by a route alone. */
async function read(): Promise<string> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const instance = fastify();
  try {
    await instance.register(reference, { routePrefix: '/docs', configuration: { url: '/v1/openapi.json' } });
    return (await instance.inject('/docs/js/scalar.js')).body;
  } finally {
    await instance.close();
  }
}
