import { statSync } from 'node:fs';

/** Files that mostly wait: begun last, one of them would be alone at the end. */
const waiting = ['test/e2e/outage.spec.ts', 'test/e2e/machines.spec.ts', 'test/e2e/team-work.spec.ts'];

/** The order in which Jest runs test files on a machine that has not run them before: what waits, then what is large. */
export default class LongestFirst {
  sort(tests) {
    const place = ({ path }) => {
      const n = waiting.findIndex((file) => path.endsWith(file));
      return n === -1 ? waiting.length : n;
    };
    const size = new Map(tests.map((test) => [test, statSync(test.path).size]));
    return tests.toSorted((a, b) => place(a) - place(b) || size.get(b) - size.get(a));
  }

  shard(tests) {
    return tests;
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}
