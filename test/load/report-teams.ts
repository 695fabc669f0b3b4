import { loadavg } from 'node:os';
import { machine } from './machine.js';

export interface OperationRow {
  readonly name: string;
  readonly calls: number;
  /** Of the controller for one call, at the median; without what begins and ends transactions. */
  readonly statements: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
}

export interface Join {
  readonly waves: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly p99_ms: number;
  /** The part of it until the parent's next job is written. */
  readonly merge_p50_ms: number;
}

export interface Report {
  readonly operations: readonly OperationRow[];
  readonly join: Join;
  /** How the contributors of a manager end. */
  readonly at_once: boolean;
  readonly tree: Readonly<Record<'width' | 'depth' | 'members' | 'waves' | 'workers' | 'slots' | 'seconds', number>>;
  readonly seconds: number;
  /** Load of the machine over the minute before it began: what else ran is in the milliseconds. */
  readonly load_before: number;
}

const joinBar = 100;

export const loadNow = (): number => Math.round((loadavg()[0] ?? 0) * 10) / 10;

/** The page that the command writes. */
export function pageOf({ operations, join, at_once, tree, seconds, load_before }: Report): string {
  const { width, members, waves, workers, slots } = tree;
  return `# Teams, measured

Written by \`npm run bench:teams\`; do not edit. A scripted team of ${members}: a lead, ${width} managers, ${width} contributors for each, on
${workers} worker processes with ${slots} slots each, one controller, PostgreSQL with fsync, NATS. Every contributor writes a file of its own
and its part of one that all of its manager share, so that each of the ${waves} joins merges ${width} branches. Managers give their work away
one after the other, and their contributors end ${at_once ? 'all at once' : 'one after the other in random order'}, so that a join is measured and not what the others do to
the same cores; no lease waits for a slot.

Machine: ${machine()}, load ${load_before} before it began. The run took ${Math.round(seconds)} s, the Task ${Math.round(tree.seconds)} s.

| bar | measured | holds |
|---|---|---|
| from the last child's end to the parent's lease p50 ≤ ${joinBar} ms | ${join.p50_ms} | ${join.p50_ms <= joinBar ? 'yes' : 'no'} |

## Joins

From the commit of the last child's end to the lease in the parent's worker: merge of ${width} branches, probe by a checkout, pack and pin on
disk, line, Wave and successor in one transaction, ring, claim.

| waves | p50 ms | p95 ms | p99 ms | of p50 until the parent's job is written |
|---|---|---|---|---|
| ${waves} | ${join.p50_ms} | ${join.p95_ms} | ${join.p99_ms} | ${join.merge_p50_ms} |

## Member operations

From the provider's word that it calls to that of the answer, without a sandbox. Statements are those of the controller for one call,
token, gate and audit among them, without what begins and ends transactions.

| operation | calls | statements | p50 ms | p95 ms |
|---|---|---|---|---|
${operations.map((row) => `| ${row.name} | ${row.calls} | ${row.statements} | ${row.p50_ms} | ${row.p95_ms} |`).join('\n')}
`;
}
