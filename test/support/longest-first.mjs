import { statSync } from 'node:fs';

/** Files that mostly wait: begun last, one of them would be alone at the end. */
const waiting = ['test/e2e/outage.spec.ts', 'test/e2e/machines.spec.ts', 'test/e2e/team-work.spec.ts'];

/** What starts most processes comes while Jest's own are small: the memory of a process is what starting another costs. */
const starting = ['/apps/worker/', '/libs/git/', '/apps/cli/', '/libs/teams/'];

/** The order in which Jest runs test files on a machine that has not run them before: what waits, what starts much, what is large. */
export default class LongestFirst {
  sort(tests) {
    const rankIn = (list, fits) => {
      const n = list.findIndex(fits);
      return n === -1 ? list.length : n;
    };
    const rank = new Map(
      tests.map(({ path }) => [
        path,
        [
          rankIn(waiting, (file) => path.endsWith(file)),
          rankIn(starting, (folder) => path.includes(folder)),
          -statSync(path).size,
        ],
      ]),
    );
    const of = ({ path }) => rank.get(path);
    return tests.toSorted((a, b) => {
      const differing = of(a).findIndex((value, n) => value !== of(b)[n]);
      return differing === -1 ? 0 : of(a)[differing] - of(b)[differing];
    });
  }

  shard(tests) {
    return tests;
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}
