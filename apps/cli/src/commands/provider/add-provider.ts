import type { Command } from 'commander';
import { farmFolder } from '../../client/farm-folder.js';
import { askWorkerAccounts, WorkerAccounts, workerHomeOf } from '../../farm/worker-accounts.js';
import { drawTable } from '../../output/table.js';
import { makePrivateFolder } from '../../services/private-file.js';
import { CommandFailed, type CommandRun, commandAt, type Frame, runs } from '../frame.js';
import { usageText } from '../task/usage-text.js';

interface HomeFlag {
  readonly home?: string;
}

/** `provider list` and `provider check`: the accounts of the worker on this machine, looked at or tried with a real turn. */
export function addProvider(program: Command, frame: Frame): void {
  const list = commandAt(program, ['provider', 'list']).description(
    "Provider accounts of this machine's worker, and what they lack.",
  );
  runs<HomeFlag>(withHome(list), frame, (run, { home }) => tell(run, home, ['list']));
  const check = commandAt(program, ['provider', 'check'])
    .description('Run one real turn on an account, or on each; it spends what a short answer costs.')
    .argument('[account]');
  runs<HomeFlag>(withHome(check), frame, (run, { home }, [account]) =>
    tell(run, home, ['check', ...(account === undefined ? [] : [account])]),
  );
}

export function withHome(command: Command): Command {
  return command.option('--home <dir>', 'folder of the worker (else the one below <data>)');
}

/** Made where it is not there yet: an owner may log in before the worker has joined. */
export async function homeOf({ surroundings, data }: CommandRun, given: string | undefined): Promise<string> {
  const { env } = surroundings;
  const home = given ?? workerHomeOf(farmFolder(env, data), env);
  await makePrivateFolder(home);
  return home;
}

async function tell(run: CommandRun, given: string | undefined, args: readonly string[]): Promise<void> {
  const { screen, surroundings } = run;
  const { env, signal } = surroundings;
  const answer = await askWorkerAccounts({ home: await homeOf(run, given), args, env, signal }, WorkerAccounts);
  screen.answer(answer);
  const rows = answer.accounts.map((account) => [
    account.account,
    account.provider,
    account.usable ? screen.paint.green('usable') : screen.paint.yellow('not usable'),
    [account.version, account.reason, account.usage && usageText(account.usage)]
      .filter((part) => part !== undefined)
      .join('; '),
    account.fix,
  ]);
  screen.show(drawTable(['account', 'provider', '', 'found', 'fix'], rows, screen.paint));
  const wanted = answer.accounts.filter(({ configured }) => configured || answer.accounts.length === 1);
  if (wanted.some(({ usable }) => !usable)) throw new CommandFailed(1);
}
