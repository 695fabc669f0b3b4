import type { Rewrite } from '../support/rewriting.js';

/** A bug as it might come to be: a predicate gone, a guard forgotten. The simulator must see it. */
export interface Plant {
  readonly name: string;
  /** Rules of which one is seen broken. */
  readonly seenBy: readonly string[];
  /** What a rule itself says where it comes upon what the bug left before the invariants are asked. */
  readonly refusedWith?: string;
  /** By the name of a statement: what stands there, and what instead. */
  readonly changes: Readonly<Record<string, readonly [RegExp, string]>>;
  /** Constraints that would hold it back: taken away, so that the invariants are what finds it. */
  readonly unguard?: string;
}

const noGuardOfSuccessors = `alter table dispatch drop constraint dispatch_caused_by_assignment_key; drop index dispatch_current`;
const takesLeased = [/j\.state = 'queued'/g, `j.state in ('queued', 'leased')`] as const;

export const plants: readonly Plant[] = [
  {
    name: 'a claim takes what is leased',
    seenBy: ['A12.1', 'A12.2'],
    changes: { 'job.claim': takesLeased, 'job.claim_plain': takesLeased },
  },
  {
    name: 'an end is heard from another holder',
    seenBy: ['H14'],
    changes: {
      'job.settle': [/and j\.holder = a\.holder and j\.boot = a\.boot/, ''],
      'job.held': [/and j\.holder = \$\d+ and j\.boot = \$\d+/, `and ($$4::text, $$5::uuid) is not null`],
    },
  },
  {
    name: 'Resume opens a successor twice',
    seenBy: ['I1', 'I2', 'I3', 'I14'],
    refusedWith: 'a Command Run that is over without its rows',
    changes: { 'teams.lanes_to_open': [/and not \(\(exists[\s\S]*(?=order by a\.id)/, ''] },
    unguard: noGuardOfSuccessors,
  },
  {
    name: 'a Wave is joined before all have reported',
    seenBy: ['I1', 'I3', 'I9', 'I13', 'I14'],
    refusedWith: 'a child without its place in an open Wave',
    changes: {
      'teams.wave_joinable': [/and not exists \(.*\)/, ''],
      'teams.wave_pending': [/count\(\*\) as pending/, '0::bigint as pending'],
    },
  },
  {
    name: 'a pause holds nothing',
    seenBy: ['D8'],
    changes: { 'job.hold': [/state = 'queued'/, 'false'] },
  },
  {
    name: 'a lease that is over keeps its slot',
    seenBy: ['A12.1'],
    changes: { 'job.leave': [/and l\.ended_at is null/, 'and false'] },
  },
  {
    name: 'slots are not counted',
    seenBy: ['H26'],
    changes: {
      'job.claim': [/holder = \$\d+ and state = 'leased'/, '$& and false'],
      'job.claim_plain': [/holder = \$\d+ and state = 'leased'/, '$& and false'],
    },
  },
  {
    name: 'Resume releases nothing',
    seenBy: ['D8', 'I26'],
    changes: { 'job.release': [/state = 'held'/, 'false'] },
  },
  {
    name: 'an answer that came during a pause is forgotten',
    seenBy: ['I14'],
    changes: { 'teams.human_request_of_dispatch': [/where h\.source_dispatch/, 'where false and h.source_dispatch'] },
  },
];

/** @throws Error where a statement is not any more what the plant changes */
export function rewriteOf({ name, changes }: Plant): Rewrite {
  return (stated) => {
    const change = changes[stated.name];
    if (!change) return stated;
    const text = stated.text.replace(...change);
    if (text === stated.text) throw new Error(`${name}: ${stated.name} is not what it was`);
    return { ...stated, name: `${stated.name}.planted`, text };
  };
}
