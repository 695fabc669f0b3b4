import { afterEach, describe, expect, it } from '@jest/globals';
import { type AnsweringFarm, anAnsweringFarm, type Reply, runCli } from '../../../../../test/support/answering-farm.js';

let farm: AnsweringFarm | undefined;
afterEach(async () => {
  await farm?.close();
  farm = undefined;
});

async function verify(answers: readonly object[], ...words: readonly string[]) {
  const waiting = [...answers];
  farm = await anAnsweringFarm((): Reply => ({ json: { result: waiting.shift() } }));
  return await runCli(['audit', 'verify', ...words], { env: { LONGSHORE_CREDENTIAL: farm.credential } });
}

const good = { intact: true, checked: 100_000, waiting: 1, faults: [], next_cursor: null };
const fault = { kind: 'altered', seq: 7, seal: 6, detail: 'Row 7 or its seal was changed' };

describe('audit verify', () => {
  it('goes on behind each cursor and ends 0 for an audit that nobody touched', async () => {
    const ran = await verify(
      [
        { ...good, next_cursor: '100000' },
        { ...good, checked: 5 },
      ],
      '--json',
    );
    expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, { intact: true, checked: 100_005, waiting: 1, faults: [] }]);
    const sent = farm?.asked.filter(({ path }) => path.endsWith('audit_verify')).map(({ body }) => body.toString());
    expect(sent).toEqual(['{"input":{}}', '{"input":{"cursor":"100000"}}']);
  });

  it('ends 1 and names the rows when somebody did', async () => {
    const ran = await verify([{ ...good, intact: false, faults: [fault], next_cursor: '9' }, good]);
    expect(ran.exit).toBe(1);
    expect(ran.stdout).toMatch(/^intact +false$/m);
    expect(ran.stdout).toMatch(/^altered +7 +6 +Row 7 or its seal was changed$/m);
  });
});
