import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { FarmError, type TaskView, taskOverview } from '#contracts';
import { fetchResult } from '#git';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import type { FarmClient } from '../../client/farm-client.js';
import { commandAt, type Frame, runs } from '../frame.js';

interface CheckoutFlags {
  readonly into?: string;
  readonly branch?: string;
  readonly switch?: boolean;
}

/** `task checkout`: the branch of a Result into the repository that one stands in; the working tree only with --switch (D24). */
export function addTaskCheckout(program: Command, frame: Frame): void {
  const command = commandAt(program, ['task', 'checkout'])
    .description('Bring the branch of a Result into your repository; your files stay as they are.')
    .argument('<task_id>')
    .option('--into <dir>', 'repository (else the one that you stand in)')
    .option('--branch <name>', 'another name for the branch')
    .option('--switch', 'also switch to it, when there are no uncommitted changes');
  runs<CheckoutFlags>(command, frame, async (run, flags, [taskId]) => {
    const { screen, surroundings } = run;
    const input = readInput(taskOverview, argumentFields(taskOverview), { task_id: taskId }, undefined);
    const client = await run.client();
    const view = await client.call(taskOverview, input, { signal: surroundings.signal });
    const dir = resolve(surroundings.cwd, flags.into ?? '.');
    const fetched = await checkOut(client, view, {
      dir,
      switchTo: flags.switch === true,
      ...(flags.branch !== undefined && { branch: flags.branch }),
    });
    screen.answer({ task_id: view.task_id, ...fetched, directory: dir, diff: fetched.diff });
    screen.show(`${screen.paint.bold(fetched.branch)} ${fetched.commit}${fetched.switched ? ' (switched to it)' : ''}`);
    screen.say(`the changes: ${fetched.diff}`);
  });
}

export interface CheckedOut {
  readonly branch: string;
  readonly commit: string;
  readonly switched: boolean;
  /** The command that shows what the Task changed. */
  readonly diff: string;
}

export async function checkOut(
  client: FarmClient,
  view: TaskView,
  { dir, switchTo, branch }: { readonly dir: string; readonly switchTo: boolean; readonly branch?: string },
): Promise<CheckedOut> {
  const { result } = view;
  if (result === null && view.ended_at !== null)
    throw new FarmError('not_found', `The Task is ${view.status} and has no Result, so there is no branch.`);
  if (result === null)
    throw new FarmError('conflict', 'The Task has no Result yet.', { hint: `longshore task watch ${view.task_id}` });
  if (result.branch === null || result.commit === null) {
    throw new FarmError('not_found', 'The Task changed no files, so there is no branch.');
  }
  const folder = await mkdtemp(join(tmpdir(), 'longshore-result-'));
  try {
    const bundle = join(folder, 'result.bundle');
    await client.getResult(view.task_id, bundle);
    const fetched = await fetchResult({
      dir,
      bundle,
      commit: result.commit,
      branch: branch ?? result.branch,
      switchTo,
    });
    const from = result.base ?? `${result.commit}^`;
    return {
      branch: fetched.branch,
      commit: result.commit,
      switched: fetched.switched,
      diff: `git -C ${quoted(dir)} diff ${from.slice(0, 12)} ${fetched.branch}`,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const quoted = (text: string) => (/^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
