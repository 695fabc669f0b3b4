import type { Command } from 'commander';
import { z } from 'zod';
import { askWorkerAccounts } from '../farm/worker-accounts.js';
import { commandAt, type Frame, runs } from './frame.js';
import { homeOf, withHome } from './provider/add-provider.js';

const LoggedIn = z.object({ folder: z.string().optional(), entry: z.string().optional() });

/** `worker login claude|codex [account]`: the program's own login, in the folder of that account. */
export function addWorkerLogin(program: Command, frame: Frame): void {
  const command = commandAt(program, ['worker', 'login'])
    .description("Log a provider's program in on this machine, for the worker's sessions.")
    .argument('<provider>', 'claude or codex')
    .argument('[account]', "a name of worker.yaml, or a new one; without it the owner's own login");
  runs<{ home?: string }>(withHome(command), frame, async (run, { home }, [provider = '', account]) => {
    const { screen, surroundings } = run;
    const { env, signal } = surroundings;
    const folder = await homeOf(run, home);
    const args = ['login', provider, ...(account === undefined ? [] : [account])];
    const done = await askWorkerAccounts({ home: folder, args, env, signal }, LoggedIn);
    screen.answer(done);
    if (done.entry !== undefined) screen.show(`Add this to ${folder}/worker.yaml:\n\n${done.entry}`);
    screen.say(`longshore provider check${account === undefined ? '' : ` ${account}`} tries it with one real turn`);
  });
}
