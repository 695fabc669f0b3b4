import type { Command } from 'commander';
import { FarmError } from '#contracts';
import { commandAt, type Frame, runs } from '../frame.js';
import { kill } from './kill.js';
import { outage } from './outage.js';
import { pause } from './pause.js';
import { playDemo } from './play-demo.js';

interface DemoFlags {
  readonly kill?: boolean;
  readonly pause?: boolean;
  readonly outage?: boolean;
  readonly keep?: boolean;
  readonly ask?: boolean;
}

/** `demo`: a whole farm in a temporary folder does one real job, with a fault if you like, and goes without a trace. */
export function addDemo(program: Command, frame: Frame): void {
  const command = commandAt(program, ['demo'])
    .description('Show a team at a Task from its start to its Result on a farm of two workers; nothing is left behind.')
    .option('--kill', kill.about)
    .option('--pause', pause.about)
    .option('--outage', outage.about)
    .option('--ask', 'you answer what the team asks a person; else the demonstration does')
    .option('--keep', 'keep the data folder with the repository and the logs');
  runs<DemoFlags>(command, frame, async (run, flags) => {
    const asked = [flags.kill && kill, flags.pause && pause, flags.outage && outage].filter(
      (fault) => typeof fault === 'object',
    );
    const [fault, more] = asked;
    if (more !== undefined) throw new FarmError('invalid_input', 'One fault at a time: --kill, --pause or --outage.');
    const ask = flags.ask === true;
    if (ask && run.surroundings.stdin.isTTY !== true)
      throw new FarmError('invalid_input', '--ask needs a terminal that you can answer at.');
    await playDemo(run, { fault, keep: flags.keep === true, ask });
  });
}
