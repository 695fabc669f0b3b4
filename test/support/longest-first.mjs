import { statSync } from 'node:fs';

/** Files that mostly wait: begun last, one of them would be alone at the end. */
const waiting = ['test/e2e/outage.spec.ts', 'test/e2e/machines.spec.ts', 'test/e2e/team-work.spec.ts'];

/** What starts most processes comes while Jest's own are small: the memory of a process is what starting another costs. */
const starting = ['/apps/worker/', '/libs/git/', '/apps/cli/', '/libs/teams/'];

/** The order in which Jest runs test files on a machine that has not run them before: what waits, what starts much, what is large. */
export default class LongestFirst {
  sort(tests) {
    const size = new Map(tests.map((test) => [test, statSync(test.path).size]));
    return tests.toSorted(
      (a, b) =>
        placeIn(waiting, a) - placeIn(waiting, b) ||
        placeIn(starting, a) - placeIn(starting, b) ||
        size.get(b) - size.get(a),
    );
  }

  shard(tests) {
    return tests;
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}

function placeIn(list, { path }) {
  const n = list.findIndex((part) => path.includes(part));
  return n === -1 ? list.length : n;
}
