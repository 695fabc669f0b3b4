import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { errorCodes, type OutputOf, taskPush } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import type { Screen } from '../../output/screen.js';
import { plainLine, plainText } from '../../output/terminal-text.js';
import { CommandFailed, commandAt, type Frame, runs } from '../frame.js';

interface PushFlags {
  readonly pr?: boolean;
  readonly title?: string;
  readonly bodyFile?: string;
  readonly target?: string;
  readonly forge?: string;
  readonly approve?: string;
}

type Answer = OutputOf<typeof taskPush>;

/** `task push`: the branch to its origin. A change of what a CI system runs is shown and waits for `--approve` (H39, exit code 5). */
export function addTaskPush(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'push'])
    .description(taskPush.summary)
    .argument('<task_id>')
    .option('--pr', 'also open a pull request, or name the one there is')
    .option('--title <text>', "of the pull request; else the Task's title")
    .option('--body-file <file>', 'text of the pull request')
    .option('--target <branch>', 'branch that it goes to; else the default branch')
    .option('--forge <kind>', 'github, gitlab or gitea, where the host does not tell')
    .option('--approve <digest>', 'you have read the changes to CI files that a push before showed under this digest');
  runs<PushFlags>(command, frame, async (run, flags, [task_id]) => {
    const { screen, surroundings } = run;
    const { pr, bodyFile, title, target, forge, approve } = flags;
    const body = bodyFile === undefined ? undefined : await readFile(resolve(surroundings.cwd, bodyFile), 'utf8');
    const given = { task_id, pull_request: pr === true, title, body, target, forge, approve };
    const input = readInput(taskPush, argumentFields(taskPush), given, undefined);
    const client = await run.client();
    const answer = await client.call(taskPush, input, { idempotencyKey: randomUUID(), signal: surroundings.signal });
    screen.answer(answer);
    if (answer.state === 'waiting_for_approval') {
      tellApproval(screen, `${task_id}${pr === true ? ' --pr' : ''}`, answer);
      throw new CommandFailed(errorCodes.confirmation_required.exit);
    }
    tellPush(screen, answer);
  });
}

function tellPush(screen: Screen, { branch, commit, already, pull_request }: Answer): void {
  screen.show(`${screen.paint.bold(branch)} ${commit}${already ? ' (the origin had it)' : ''}`);
  if (pull_request === null) return;
  const { number, url, state, created } = pull_request;
  screen.show(`#${number} ${state}${created ? '' : ' (there already)'} ${plainLine(url)}`);
}

function tellApproval(screen: Screen, words: string, { approval }: Answer): void {
  if (approval === null) return;
  screen.show(plainText(approval.diff).trimEnd());
  if (approval.truncated) screen.say('the diff is longer than this');
  if (approval.binary) screen.say('something in it is no text, and is not shown as it is');
  const where = `${plainLine(approval.repository)} (${plainLine(approval.origin)})`;
  screen.say(screen.tint.yellow(`Nothing was pushed: this branch changes what a CI system runs at ${where}:`));
  for (const file of approval.files) screen.say(`  ${plainLine(file)}`);
  const way =
    approval.digest === null
      ? 'nobody can approve what is not shown whole; take it there by hand: longshore task patch'
      : `read the changes, then: longshore task push ${words} --approve ${approval.digest}`;
  screen.say(`  → ${way}`);
}
