import type { Command } from 'commander';
import { type OutputOf, repoCheck } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { drawPairs } from '../../output/table.js';
import { plainLine } from '../../output/terminal-text.js';
import { CommandFailed, type CommandRun, commandAt, type Frame, runs } from '../frame.js';

/** As for what is not to be had now. */
const unusable = 7;
const pathsShown = 10;

/** `repo check NAME`: exit code 7 when no Task could start from it. */
export function addRepoCheck(program: Command, frame: Frame): void {
  const command = commandAt(program, ['repo', 'check'])
    .description(repoCheck.summary)
    .argument('<name>', 'as in `longshore repo list`');
  runs<object>(command, frame, async (run, _, [name]) => {
    if (!(await checkRepository(run, name))) throw new CommandFailed(unusable);
  });
}

/** Asks, tells, and answers whether a Task could start from it. */
export async function checkRepository(run: CommandRun, name: string | undefined): Promise<boolean> {
  const { screen, surroundings } = run;
  const input = readInput(repoCheck, argumentFields(repoCheck), { name }, undefined);
  const found = await (await run.client()).call(repoCheck, input, { signal: surroundings.signal });
  screen.answer(found);
  screen.show(drawPairs(factsOf(found), screen.paint));
  for (const note of found.notes) screen.say(note);
  if (found.problem) {
    screen.say(screen.tint.red(plainLine(found.problem.detail)));
    if (found.problem.hint !== null) screen.say(plainLine(found.problem.hint));
  }
  return found.usable;
}

function factsOf(found: OutputOf<typeof repoCheck>): [string, unknown][] {
  const { lfs, submodules } = found;
  return [
    ['repository', found.name],
    ['url', found.url],
    ['usable', found.usable],
    ['branch', found.branch],
    ['commit', found.commit],
    ...(lfs && lfs.files > 0 ? [['git-lfs', shown(lfs.paths, lfs.files)] satisfies [string, unknown]] : []),
    ...(submodules && submodules.length > 0
      ? [
          [
            'submodules',
            shown(
              submodules.map(({ path }) => path),
              submodules.length,
            ),
          ] satisfies [string, unknown],
        ]
      : []),
    ...found.host_keys.map((key): [string, unknown] => ['host key', key]),
  ];
}

function shown(paths: readonly string[], total: number): string {
  const first = paths.slice(0, pathsShown).join(', ');
  return total > pathsShown ? `${first} and ${total - pathsShown} more` : first;
}
