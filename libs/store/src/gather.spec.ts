import { describe, expect, it } from '@jest/globals';
import { gather } from './gather.js';

/** Longer than any test. */
const never = 600_000;

/** Answers ten times what it is asked, group by group, each when it is let go. */
function held(lateMs = never) {
  const groups: (readonly number[])[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const ask = gather<number, number>({
    kindOf: (asked) => Math.sign(asked),
    most: 3,
    lateMs,
    async together(asks) {
      groups.push(asks);
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return asks.map((each) => each * 10);
    },
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const letGo = async () => {
    gates.shift()?.resolve();
    // One in which the group ends, one in which the next is formed.
    await turn();
    await turn();
  };
  return { ask, groups, turn, letGo };
}

describe('what is asked at once', () => {
  it('goes together at the end of the turn, each with its own answer', async () => {
    const { ask, groups, turn, letGo } = held();
    const answers = Promise.all([ask(1), ask(2)]);
    await turn();
    expect(groups).toEqual([[1, 2]]);
    await letGo();
    expect(await answers).toEqual([10, 20]);
  });

  it('goes with the next group while one is on its way, and no more than fit', async () => {
    const { ask, groups, turn, letGo } = held();
    const first = ask(1);
    await turn();
    const others = Promise.all([2, 3, 4, 5].map(ask));
    await turn();
    expect(groups).toEqual([[1]]);
    for (let n = 0; n < 3; n += 1) await letGo();
    expect(groups).toEqual([[1], [2, 3, 4], [5]]);
    expect(await first).toBe(10);
    expect(await others).toEqual([20, 30, 40, 50]);
  });

  it('goes with its kind alone, one group at a time, and kinds take turns', async () => {
    const { ask, groups, turn, letGo } = held();
    const all = Promise.all([1, -1, 2, 3, 4, -2].map(ask));
    await turn();
    expect(groups).toEqual([[1, 2, 3]]);
    await letGo();
    await letGo();
    expect(groups).toEqual([[1, 2, 3], [-1, -2], [4]]);
    await letGo();
    expect(await all).toEqual([10, -10, 20, 30, 40, -20]);
  });

  it('goes with what came in the turn in which the group before it ended', async () => {
    const { ask, groups, turn, letGo } = held();
    const first = ask(1);
    await turn();
    const second = ask(2);
    const after = first.then(() => ask(3));
    await letGo();
    expect(groups).toEqual([[1], [2, 3]]);
    await letGo();
    expect(await Promise.all([second, after])).toEqual([20, 30]);
  });

  it('is not held up by a group that is late', async () => {
    const { ask, groups, turn, letGo } = held(1);
    const first = ask(1);
    await turn();
    const second = ask(2);
    while (groups.length < 2) await turn();
    await letGo();
    await letGo();
    expect(await Promise.all([first, second])).toEqual([10, 20]);
  });

  it('fails together, and what comes after goes on', async () => {
    let fail = true;
    const ask = gather<number, number>({
      kindOf: () => 'one',
      most: 2,
      lateMs: never,
      async together(asks) {
        if (fail) throw new Error('no');
        return asks;
      },
    });
    expect((await Promise.allSettled([ask(1), ask(2)])).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fail = false;
    expect(await ask(3)).toBe(3);
  });
});
