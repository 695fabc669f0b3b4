import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type FastifyInstance, fastify } from 'fastify';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { sendFile } from './send-file.js';

let server: FastifyInstance;
beforeAll(() => {
  const path = join(tempDir('send-file'), 'bundle');
  writeFileSync(path, '0123456789');
  server = fastify();
  server.get('/file', (request, reply) => sendFile(request, reply, { path, size: 10 }));
});
afterAll(() => server.close());

async function get(range?: string) {
  const answer = await server.inject({ url: '/file', ...(range !== undefined && { headers: { range } }) });
  return [answer.statusCode, answer.body, answer.headers['content-range']];
}

it('sends a file whole, or from a byte on, so that a broken download goes on where it stopped', async () => {
  expect(await get()).toEqual([200, '0123456789', undefined]);
  expect(await get('bytes=4-')).toEqual([206, '456789', 'bytes 4-9/10']);
  expect(await get('bytes=2-3')).toEqual([206, '23', 'bytes 2-3/10']);
  expect(await get('bytes=8-99')).toEqual([206, '89', 'bytes 8-9/10']);
});

it('says how long the file is to who asks for what is not there', async () => {
  for (const range of ['bytes=10-', 'bytes=5-4', 'bytes=-3', 'lines=1-2', 'bytes=0-1,4-5'])
    expect(await get(range)).toEqual([416, '', 'bytes */10']);
});
