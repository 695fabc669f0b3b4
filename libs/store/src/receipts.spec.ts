import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aDatabase } from '../../../test/support/database.js';
import { type Database, openDatabase } from './database.js';
import { claimReceipt, keepReply, type ReceiptKey } from './receipts.js';

let database: Database;
beforeAll(async () => {
  database = openDatabase({ url: (await aDatabase()).appUrl, max: 12 });
});
afterAll(() => database.close());

/** An act that counts how often it was done. */
function anAct() {
  let done = 0;
  return {
    get done() {
      return done;
    },
    call: (of: ReceiptKey, input: unknown) =>
      database.transaction(async (tx) => {
        const receipt = await claimReceipt(tx, of, input);
        if (receipt.known) return receipt.reply;
        done += 1;
        const reply = { turn: done };
        keepReply(tx, of, reply);
        return reply;
      }),
  };
}

const key = (name: string): ReceiptKey => ({ caller: 'p_1', operation: 'spec_act', key: name });

describe('a receipt', () => {
  it('lets one of many simultaneous twins act and gives all the same answer', async () => {
    const act = anAct();
    const replies = await Promise.all(Array.from({ length: 10 }, () => act.call(key('twins'), { a: 1, b: 2 })));
    expect(act.done).toBe(1);
    expect(new Set(replies.map((reply) => JSON.stringify(reply)))).toEqual(new Set(['{"turn":1}']));
  });

  it('knows the same input in another order of its keys', async () => {
    const act = anAct();
    await act.call(key('order'), { a: 1, b: { c: [1], d: 2 } });
    await expect(act.call(key('order'), { b: { d: 2, c: [1] }, a: 1 })).resolves.toEqual({ turn: 1 });
  });

  it('P5 refuses the same key with another input and does nothing', async () => {
    const act = anAct();
    await act.call(key('other'), { a: 1 });
    await expect(act.call(key('other'), { a: 2 })).rejects.toMatchObject({ code: 'idempotency_mismatch' });
    expect(act.done).toBe(1);
  });

  it('is gone with the act that failed, so that the retry acts', async () => {
    const failing = database.transaction(async (tx) => {
      await claimReceipt(tx, key('failed'), {});
      throw new Error('the act failed');
    });
    await expect(failing).rejects.toThrow('the act failed');
    const act = anAct();
    await act.call(key('failed'), {});
    expect(act.done).toBe(1);
  });
});
