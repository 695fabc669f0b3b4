import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { FarmError, type InputOf, RepositoryName, taskStart } from '#contracts';
import { bundleCheckout } from '#git';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { watchBoth } from '../../arguments/watch-both.js';
import type { FarmClient } from '../../client/farm-client.js';
import { plainLine } from '../../output/terminal-text.js';
import { type CommandRun, commandAt, type Frame, runs } from '../frame.js';
import { readNamedText } from '../read-document.js';
import { followTask } from './follow-task.js';
import { isInsideCheckout } from './inside-checkout.js';
import { readBudget } from './read-budget.js';

interface StartFlags {
  readonly workflow?: string;
  readonly promptFile?: string;
  readonly source?: string;
  readonly repo?: string;
  readonly ref?: string;
  readonly empty?: boolean;
  readonly host?: string;
  readonly workspace?: string;
  readonly file?: readonly string[];
  readonly title?: string;
  readonly pool?: string;
  readonly label?: readonly string[];
  readonly priority?: string;
  /** False: --no-verify. */
  readonly verify?: string | false;
  readonly verifyTimeout?: string;
  readonly provider?: string;
  readonly account?: string;
  readonly budget?: readonly string[];
  readonly isolation?: string;
  /** False: --no-fallback. */
  readonly fallback?: boolean;
  readonly idempotencyKey?: string;
  readonly watch?: boolean;
}

/** Flags whose fields have another name or shape. */
const flagsOf = {
  prompt: '<prompt>',
  workflow_id: '--workflow',
  labels: '--label',
  verify_timeout_seconds: '--verify-timeout',
  repository: '--repo',
  workspace: '--workspace',
  files: '--file',
  budget: '--budget',
  isolation: '--isolation',
  verify: '--verify',
};

type Source = InputOf<typeof taskStart>['source'];

/** `task start`: the prompt by argument, stdin or file; the files of the checkout that one stands in, of a repository, or of none. */
export function addTaskStart(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'start'])
    .description(taskStart.summary)
    .argument('[prompt]', 'what is to be done; `-` reads it from stdin')
    .option('--workflow <id>', 'the team that does it; else `solo`, one member')
    .option('--prompt-file <file>', 'read the prompt from a file')
    .option('--source <dir>', 'git checkout to start from, with its unfinished work (else the one that you stand in)')
    .option('--repo <name-or-url>', 'start from a registered repository, or from a URL that needs no credential')
    .option('--ref <name>', 'branch, tag or whole commit id of --repo; else its default branch')
    .option('--empty', 'start from an empty repository')
    .option('--workspace <dir>', 'work in this very folder of --host, and in no copy of it; its owner must allow it')
    .option('--host <name>', 'machine of --workspace: the name in its label host:<name>')
    .option('--file <path[=description]>', 'a file of it that the lead is to look at; repeatable', repeated)
    .option('--title <text>', "else the prompt's first line")
    .option('--pool <name>', 'which workers')
    .option('--label <label>', 'what a machine must have; repeatable', (value: string, all: readonly string[] = []) => [
      ...all,
      value,
    ])
    .option('--priority <number>', '-100 to 100')
    .option('--verify <command>', 'line for /bin/sh that the farm runs on the final tree; else that of the repository')
    .option('--no-verify', 'verify nothing, also where the repository has a command')
    .option('--verify-timeout <seconds>', 'time that the command has; else an hour')
    .option(
      '--provider <kind>',
      'claude, codex, acp or scripted, for members that name nobody; else the first agent that a machine offers',
    )
    .option('--account <name>', 'provider account of members that name none')
    .option('--budget <limit>', 'where the Task pauses: 5usd, 2Mtokens, 200requests; repeatable', repeated)
    .option(
      '--isolation <backends>',
      'how workspaces are made: overlay, reflink, clone; several with commas, best first',
    )
    .option('--no-fallback', 'run only where one of --isolation is there, in place of another with the reason told')
    .option('--idempotency-key <key>', 'starting again with this key is no second Task')
    .option('--watch', 'stay and show the work until it ends');
  const refuseBoth = watchBoth(command, 'verify');
  runs<StartFlags>(command, frame, async (run, flags, [prompt]) => {
    refuseBoth();
    const { screen, surroundings } = run;
    const {
      workflow: workflow_id,
      title,
      pool,
      label: labels,
      priority,
      verify,
      verifyTimeout,
      provider,
      account,
    } = flags;
    const given = {
      workflow_id,
      title,
      pool,
      labels,
      priority,
      provider,
      account,
      verify_timeout_seconds: verifyTimeout,
      prompt: await promptOf(prompt, flags, surroundings),
    };
    const repository = repositoryOf(flags);
    const workspace = workspaceOf(flags);
    const files = (flags.file ?? []).map(fileOf);
    const budget = readBudget(flags.budget ?? []);
    const isolation = isolationOf(flags);
    const input = readInput(
      taskStart,
      argumentFields(taskStart),
      given,
      {
        ...(repository && { repository }),
        ...(workspace && { workspace }),
        ...(files.length > 0 && { files }),
        ...(budget && { budget }),
        ...(isolation && { isolation }),
        ...(verify !== undefined && { verify }),
      },
      flagsOf,
    );
    const client = await run.client();
    const source: Source = repository || workspace ? { kind: 'empty' } : await sourceOf(run, client, flags);
    // Made before the first try: a repetition of ours after a lost answer is no second Task.
    const idempotencyKey = flags.idempotencyKey ?? randomUUID();
    const started = await client.call(
      taskStart,
      { ...Object(input), source },
      { idempotencyKey, signal: surroundings.signal },
    );
    screen.answer(started);
    screen.show(`${screen.paint.bold(started.task_id)} ${started.status}`);
    for (const warning of started.warnings ?? []) screen.say(`${screen.tint.yellow('warning')}: ${plainLine(warning)}`);
    if (flags.watch === true) await followTask(run, started.task_id);
    else screen.say(`longshore task watch ${started.task_id} shows the work`);
  });
}

/** What `--isolation` lists; the farm knows which there are. */
function isolationOf({ isolation, fallback = true }: StartFlags) {
  if (isolation !== undefined)
    return { required: isolation.split(',').map((word) => word.trim()), allow_fallback: fallback };
  if (!fallback) throw new FarmError('invalid_input', '--no-fallback goes with --isolation.');
  return undefined;
}

const repeated = (value: string, all: readonly string[] = []) => [...all, value];

async function promptOf(
  prompt: string | undefined,
  { promptFile }: StartFlags,
  surroundings: CommandRun['surroundings'],
): Promise<string> {
  if (prompt !== undefined && promptFile !== undefined) {
    throw new FarmError('invalid_input', 'The prompt was given twice: as an argument and with --prompt-file.');
  }
  const name = promptFile ?? (prompt === '-' ? '-' : undefined);
  if (name !== undefined) return await readNamedText(name, surroundings);
  if (prompt !== undefined) return prompt;
  throw new FarmError('invalid_input', 'There is no prompt.', {
    hint: 'Give it as an argument, with --prompt-file FILE, or as `-` by stdin.',
  });
}

/** What `--repo` names: a name where it could be one, else a URL. */
function repositoryOf({ repo, ref, source, empty }: StartFlags): InputOf<typeof taskStart>['repository'] {
  if (repo === undefined && ref === undefined) return undefined;
  if (repo === undefined) throw new FarmError('invalid_input', '--ref goes with --repo.');
  if (source !== undefined || empty === true)
    throw new FarmError('invalid_input', '--repo, --source and --empty exclude each other.');
  const named = RepositoryName.safeParse(repo).success ? { name: repo } : { url: repo };
  return { ...named, ...(ref !== undefined && { ref }) };
}

/** What `--host` and `--workspace` name: a folder of that machine, not of this one. */
function workspaceOf({ host, workspace, source, repo, empty }: StartFlags): InputOf<typeof taskStart>['workspace'] {
  if (host === undefined && workspace === undefined) return undefined;
  if (host === undefined || workspace === undefined)
    throw new FarmError('invalid_input', '--host and --workspace go together.');
  if (source !== undefined || repo !== undefined || empty === true)
    throw new FarmError('invalid_input', '--workspace goes without --source, --repo and --empty.');
  return { host, path: workspace };
}

/** `path` or `path=what it is`. */
function fileOf(given: string): { readonly path: string; readonly description?: string } {
  const at = given.indexOf('=');
  return at < 0 ? { path: given } : { path: given.slice(0, at), description: given.slice(at + 1) };
}

async function sourceOf(run: CommandRun, client: FarmClient, flags: StartFlags): Promise<Source> {
  const { cwd } = run.surroundings;
  if (flags.empty === true) {
    if (flags.source === undefined) return { kind: 'empty' };
    throw new FarmError('invalid_input', '--empty and --source exclude each other.');
  }
  if (flags.source === undefined && !(await isInsideCheckout(cwd))) {
    throw new FarmError('source_refused', 'You do not stand in a git checkout.', {
      hint: 'Name one with --source DIR, a repository with --repo NAME-or-URL, or start from nothing with --empty.',
    });
  }
  return await sendCheckout(run, client, resolve(cwd, flags.source ?? '.'));
}

/** The checkout as a bundle, sent under the name of its bytes; nothing of it stays here (D19). */
export async function sendCheckout(run: CommandRun, client: FarmClient, dir: string): Promise<Source> {
  const { screen, surroundings } = run;
  const folder = await mkdtemp(join(tmpdir(), 'longshore-source-'));
  try {
    const made = await bundleCheckout({ dir, out: join(folder, 'source.bundle') });
    for (const path of made.nested) screen.say(`left out, a repository of its own: ${plainLine(path)}`);
    if (made.dirty) screen.say('the unfinished work of the checkout goes along, as one commit on its HEAD');
    await client.putSource(made.sha256, made.bundle, surroundings.signal);
    return { kind: 'bundle', sha256: made.sha256, commit: made.base, head: made.head, dirty: made.dirty };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
