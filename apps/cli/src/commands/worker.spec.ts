import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, runCli } from '../../../../test/support/answering-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';

let farm: AnsweringFarm | undefined;
afterEach(async () => {
  await farm?.close();
  farm = undefined;
});

const aTicket = () => `ls-join.${randomBytes(24).toString('base64url')}.${randomBytes(32).toString('base64url')}`;

describe('worker --join', () => {
  it('asks for the ticket again after one that was refused', async () => {
    farm = await anAnsweringFarm(() => undefined);
    const join = ['worker', '--join', farm.url, '--home', tempDir('worker'), '--json'];
    for (let time = 1; time <= 2; time += 1) {
      const ran = await runCli(join, { stdin: aTicket() });
      expect(JSON.parse(ran.stdout)).toMatchObject({ ok: false, error: { code: 'wrong_fingerprint' } });
      expect(ran.exit).toBe(4);
    }
    expect(JSON.parse((await runCli(join)).stdout)).toMatchObject({ error: { code: 'ticket_invalid' } });
  });

  it('ends at Ctrl-C also while no farm answers', async () => {
    const interrupt = new AbortController();
    // A gate that is shut: it is asked, and gives no decision.
    const shut = createServer((_request, response) => {
      response.statusCode = 503;
      response.end();
      interrupt.abort();
    });
    await new Promise<void>((resolve) => shut.listen(0, '127.0.0.1', resolve));
    const address = shut.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const words = ['worker', '--join', `http://127.0.0.1:${port}`, '--home', tempDir('worker')];
    try {
      expect((await runCli(words, { stdin: aTicket(), signal: interrupt.signal })).exit).toBe(130);
    } finally {
      shut.closeAllConnections();
      shut.close();
    }
  });

  it('names a ticket file that is not there', async () => {
    const file = join(tempDir('ticket'), 'nothing');
    const words = ['worker', '--join', 'http://127.0.0.1:9', '--home', tempDir('worker'), '--ticket-file', file];
    const ran = await runCli(words);
    expect(ran.exit).toBe(2);
    expect(ran.stderr).toContain(file);
  });
});
