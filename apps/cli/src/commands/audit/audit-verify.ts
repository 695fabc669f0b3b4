import type { Command } from 'commander';
import { auditVerify, type OutputOf } from '#contracts';
import { drawPairs, drawTable } from '../../output/table.js';
import { CommandFailed, type CommandRun, commandAt, type Frame, runs } from '../frame.js';

type Verified = Omit<OutputOf<typeof auditVerify>, 'next_cursor'>;

/** Faults that are shown: who finds more needs a copy of the database and not a longer list. */
const faultsShown = 100;

/** `audit verify`: the whole audit, however long; ends 1 when somebody changed it. */
export function addAuditVerify(program: Command, frame: Frame): void {
  const command = commandAt(program, ['audit', 'verify']).description(auditVerify.summary);
  runs<object>(command, frame, async (run) => {
    const { screen } = run;
    const found = await verifyAll(run);
    screen.answer(found);
    const { checked, waiting, intact, faults } = found;
    screen.show(
      drawPairs(
        [
          ['intact', intact],
          ['checked', `${checked} sealed rows`],
          ['waiting', `${waiting} rows of the last moment`],
        ],
        screen.paint,
      ),
    );
    if (intact) return;
    const rows = faults.map(({ kind, seq, seal, detail }) => [kind.replaceAll('_', ' '), seq, seal, detail]);
    screen.show(drawTable(['fault', 'row', 'seal', 'what'], rows, screen.paint));
    throw new CommandFailed(1);
  });
}

/** One call checks so many rows: asks until there are no more. */
async function verifyAll(run: CommandRun): Promise<Verified> {
  const { signal } = run.surroundings;
  const client = await run.client();
  let cursor: string | null = null;
  let all: Verified = { intact: true, checked: 0, waiting: 0, faults: [] };
  do {
    const input: object = cursor === null ? {} : { cursor };
    const { next_cursor, ...found }: OutputOf<typeof auditVerify> = await client.call(auditVerify, input, { signal });
    all = {
      intact: all.intact && found.intact,
      checked: all.checked + found.checked,
      waiting: found.waiting,
      faults: [...all.faults, ...found.faults].slice(0, faultsShown),
    };
    cursor = next_cursor;
  } while (cursor !== null);
  return all;
}
