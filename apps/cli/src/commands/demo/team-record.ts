import { z } from 'zod';
import { ChildMerge, type TaskEvent } from '#contracts';
import { plainLine } from '../../output/terminal-text.js';

const Settled = z.looseObject({
  members: z.array(z.looseObject({ member: z.string(), outcome: z.string(), merge: ChildMerge.optional() })),
});

/** The farm's own run, asked for with the Task and not by a member. */
const Verify = z.looseObject({ purpose: z.literal('verify') });

/** What the record of the Task says of its team, counted as it comes. */
export class TeamRecord {
  waves = 0;
  merges = 0;
  commands = 0;
  humanRequests = 0;

  constructor(private readonly tell: (who: string, line: string) => void) {}

  add({ type, payload }: TaskEvent): void {
    if (type === 'human_request_opened') this.humanRequests += 1;
    if (type === 'command_run_opened' && !Verify.safeParse(payload).success) this.commands += 1;
    if (type !== 'wave_settled') return;
    const { members } = Settled.parse(payload);
    this.waves += 1;
    this.merges += members.filter(({ merge }) => merge?.outcome === 'merged').length;
    const reports = members.map(
      ({ member, outcome, merge }) =>
        `${plainLine(member)} ${plainLine(outcome)}, ${merge?.outcome.replaceAll('_', ' ')}`,
    );
    this.tell('lead', `Wave ${this.waves} is joined: ${reports.join('; ')}`);
  }
}
