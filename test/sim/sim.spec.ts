import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { liveMany } from './many-seeds.js';
import { type SimReport, tableOf } from './report.js';

/** In CI; `npm run test:sim -- --seeds 1000` says more. */
const seeds = Number(process.env.LONGSHORE_SIM_SEEDS ?? 200);
const patience = seeds * 30_000;

let report: SimReport;
beforeAll(async () => {
  const began = performance.now();
  report = await liveMany(seeds);
  const table = tableOf(report, (performance.now() - began) / 1000);
  writeFileSync(join(import.meta.dirname, '../../.test-results/sim.txt'), `${table}\n`);
  process.stderr.write(`\n${table}\n`);
}, patience);

/** No seed broke it; and each was asked after every step that wrote something. */
function holds(rule: string): void {
  expect(report.failures.filter((failure) => failure.rule === rule)).toEqual([]);
  expect(report.tally['asked of rows']?.times).toBeGreaterThan(seeds);
}

/** No seed broke it; and calls were made that ask for it. */
function wasAsked(rule: string): void {
  expect(report.failures.filter((failure) => failure.rule === rule)).toEqual([]);
  if (seeds >= 200) expect(report.tally['asked of calls']?.[rule]).toBeGreaterThan(0);
}

describe(`over ${seeds} seeds`, () => {
  it('I1 an Assignment has a Dispatch or a wait, never both, and none once it is over', () => holds('I1'));
  it('I2 there is one current and one first Dispatch for each Assignment, one open Assignment for each member', () =>
    holds('I2'));
  it('I3 each source has one successor, and each Dispatch follows from the one before it', () => holds('I3'));
  it('I4 nothing rings before it is committed', () => wasAsked('I4'));
  it('I5 nothing is heard from a member after its handover', () => wasAsked('I5'));
  it('I6 a Dispatch is the same bytes at every epoch', () => holds('I6'));
  it('I7 a Task is completed by the word of its root, and only by it', () => holds('I7'));
  it('I8 a green stands on a green of each direct child, as that is', () => holds('I8'));
  it('I9 a place in a Wave is settled once, by its child’s last word; a retry settles nothing', () => holds('I9'));
  it('I10 a Wave is given whole and counted; a refusal changes nothing', () => holds('I10'));
  it('I11 a change renews its branch up to the lead and nothing beside it; older revisions stay, ids never come again', () =>
    holds('I11'));
  it('I12 nobody at work is changed or removed', () => holds('I12'));
  it('I13 reports of a Wave come in the order of its request', () => holds('I13'));
  it('I14 a lane goes on with what it waited for, as that came out, also over a pause', () => holds('I14'));
  it('I15 a cancel leaves nothing open', () => holds('I15'));
  it('I16 an act by an old view is refused and changes nothing', () => wasAsked('I16'));
  it('I18 a lane is recovered twice at most between two handovers or Resumes', () => holds('I18'));
  it('I19 the record of a Task has no gap and a chain of hashes', () => holds('I19'));
  it('I20 nobody asks or runs what its workflow does not grant', () => holds('I20'));
  it('I21 a command that has started is started by nobody else; lost, it is abandoned', () => holds('I21'));
  it('I22 who names a file that is not there is refused', () => wasAsked('I22'));
  it('I23 a message stands in the record when the session has it, and only then', () => holds('I23'));
  it('I24 what people are shown names nothing of the machinery', () => wasAsked('I24'));
  it('I25 a Task that has begun has one root Dispatch', () => holds('I25'));
  it('I26 each lane of a running Task can go on, and every Task comes to its end', () => holds('I26'));
  it('H1 what a Dispatch handed over is there once, and nothing without a handover', () => holds('H1'));
  it('H7 a claim that is repeated gives the same leases', () => wasAsked('H7'));
  it('H14 a call with another holder, boot, epoch or lease is refused and changes nothing', () => wasAsked('H14'));
  it('H26 no machine holds more than its slots', () => holds('H26'));
  it('D4 a Task of which no lane can go on pauses', () => wasAsked('D4'));
  it('D8 jobs of a paused Task wait for Resume, those of a running one do not', () => holds('D8'));
  it('D9 a cancel is never taken back', () => holds('D9'));
  it('D10 a Dispatch or a command is open as long as its job', () => holds('D10'));
  it('D13 who ended a lease does not end it otherwise', () => wasAsked('D13'));
  it('D20 who works, works on the head of its line', () => holds('D20'));
  it('a Task has as many lanes at once as it may, and no more', () => holds('lanes'));
  it('Q12 of two acts by one view one is heard', () => wasAsked('Q12'));
  it('W9 an end that is said twice is answered the same', () => wasAsked('W9'));
  it('P1 a call whose controller dies leaves nothing, and no fact is ever deleted', () => wasAsked('P1'));
  it('O11 a view is what its contract says, and nobody is called to a Task that is over', () => holds('O11'));
  it('A12.1 a job has one live lease while it is leased, else none', () => holds('A12.1'));
  it('A12.2 epochs only rise, one by one', () => holds('A12.2'));
  it('A12.6 a lease that has run out is heard no more', () => wasAsked('A12.6'));
  it('A12.8 an end is never left again', () => holds('A12.8'));
  it('A12.9 the same end again is answered the same', () => wasAsked('A12.9'));
  it('A12.13 no lease and no slot is left when all is over', () => holds('A12.13'));
  it('A12.20 keys of one weight get the same share within 10 %', () => wasAsked('A12.20'));
  it('no call fails without a name, and no seed fails at all', () => {
    expect(report.failures).toEqual([]);
    expect(report.seeds).toBe(seeds);
  });

  // A few seeds are for who works on the simulator.
  (seeds < 200 ? it.skip : it).each([
    [
      'handovers',
      [
        'checkpoint green',
        'checkpoint blocked',
        'checkpoint retry',
        'delegate',
        'replan',
        'human_request',
        'command_run',
      ],
    ],
    ['leases ended', ['done', 'lost', 'failed', 'requeued', 'cancelled']],
    ['Tasks', ['completed green', 'completed blocked', 'cancelled']],
    ['people', ['pause', 'resume', 'cancel', 'answer', 'steer', 'command']],
  ])('brought about all kinds of %s', (group, names) => {
    expect(Object.keys(report.tally[group] ?? {})).toEqual(expect.arrayContaining(names));
  });
});
