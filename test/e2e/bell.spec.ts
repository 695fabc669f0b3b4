import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { bells } from '#contracts';
import { Farm } from '../support/farm.js';

let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ workers: ['north'] });
});
afterAll(() => farm.stop());

const quick = 'steps:\n  - call: { operation: checkpoint, input: { summary: "Done.", outcome: green } }\n';

/** Farm time from queued to the first lease, in seconds. */
async function waited(task: string): Promise<number> {
  const [row] = await farm.rows<{ seconds: number }>(
    `select extract(epoch from l.granted_at - j.available_at)::float8 as seconds
     from job j join lease l on l.job = j.id and l.epoch = 1 where j.scope = $1`,
    [task],
  );
  if (!row) throw new Error('never leased');
  return row.seconds;
}

describe('the bell', () => {
  it('H18 H25 costs a look and nothing else when it is forged or flooded', async () => {
    const { nats } = farm;
    if (!nats) throw new Error('this farm has NATS');
    const connection = await connect({
      servers: nats.url,
      authenticator: credsAuthenticator(new TextEncoder().encode(nats.controllerCreds)),
    });
    const worker = farm.workers.get('north');
    for (let n = 0; n < 20_000; n += 1) {
      connection.publish(bells.worker(worker?.id ?? ''), '{"cancel":true,"job":"all"}');
      connection.publish(bells.controllers, 'not even JSON');
    }
    await connection.flush();
    const task = await farm.startTask(quick);
    expect((await farm.until(task)).result?.outcome).toBe('green');
    await connection.close();
  });

  it('H18 A12.17 is not needed: with NATS gone a job is leased within six seconds, and again when NATS is back', async () => {
    await farm.nats?.kill();
    const alone = await farm.startTask(quick);
    expect((await farm.until(alone)).result?.outcome).toBe('green');
    expect(await waited(alone)).toBeLessThanOrEqual(6);
    await farm.nats?.again();
    const rung = await farm.startTask(quick);
    expect((await farm.until(rung)).result?.outcome).toBe('green');
  });
});
