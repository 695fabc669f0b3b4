import type { Command } from 'commander';
import type { FarmClient } from '../client/farm-client.js';
import { openFarmClient } from '../client/open-farm-client.js';
import { openScreen, type Screen, type Surroundings } from '../output/screen.js';

/** What all commands share. */
export interface Frame {
  readonly surroundings: Surroundings;
}

/** What one run of a command is given. */
export interface CommandRun {
  readonly surroundings: Surroundings;
  readonly screen: Screen;
  /** `--data`, as given. */
  readonly data: string | undefined;
  /** Opens the farm on first use; closed when the command ends. */
  client(): Promise<FarmClient>;
}

/** The command has told what there was to tell and ends with this number. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  constructor(readonly exit: number) {
    super(`exit ${exit}`);
  }
}

const groups: Readonly<Record<string, string>> = {
  policy: 'The most that workflows and Tasks may ask for.',
  config: 'The settings of the controller.',
  task: 'Give jobs to teams, watch them, fetch what they made.',
  workflow: 'The teams that Tasks are given to.',
  repo: 'The repositories that Tasks start from, and what opens them.',
  queue: 'The jobs behind the Tasks, and what to do with one that is stuck.',
  job: 'Jobs of your own kinds.',
  quota: 'How much may run at once.',
  account: 'Provider accounts over all machines.',
  agent: 'Programs with a credential of their own: MCP clients that call operations and take jobs.',
  grant: 'What agents may call.',
  exposure: 'What is offered over MCP at all.',
  approval: 'What agents have proposed, for a person to approve or refuse.',
  audit: 'Who called what, and the proof that nobody changed it.',
  person: 'The people of the farm and what they may do.',
  session: 'Where you are logged in.',
  'service-token': 'Tokens for scripts and MCP clients.',
  webhook: 'Who is told of what happens here, by signed messages.',
  key: 'The keys that sign tokens.',
  plugin: 'Operations that others have written, in processes of their own.',
  mcp: 'How assistants that speak MCP find the farm.',
  provider: "The agents that this machine's worker can run.",
};

/** The command with these words below `parent`; groups in between are made or found. */
export function commandAt(parent: Command, words: readonly string[]): Command {
  return words.reduce((above, word) => above.commands.find((one) => one.name() === word) ?? made(above, word), parent);
}

function made(above: Command, word: string): Command {
  return above
    .command(word)
    .description(groups[word] ?? '')
    .helpCommand(false);
}

/** Gives a command the options that all have, and its action. */
export function runs<Options>(
  command: Command,
  frame: Frame,
  action: (run: CommandRun, options: Options, args: readonly (string | undefined)[]) => Promise<void>,
): Command {
  command.option('--json', 'JSON on stdout and nothing else there');
  command.option('--data <dir>', 'data folder of the farm (else LONGSHORE_DATA, else ~/.longshore)');
  return command.action(async (...given: unknown[]) => {
    const options = command.opts<Options & { json?: boolean; data?: string }>();
    const opened = openRun(frame, options);
    try {
      await action(opened.run, options, given.slice(0, -2).map(asText));
    } finally {
      await opened.close();
    }
  });
}

const asText = (value: unknown) => (typeof value === 'string' ? value : undefined);

function openRun({ surroundings }: Frame, { json, data }: { json?: boolean; data?: string }) {
  let client: Promise<FarmClient> | undefined;
  const run: CommandRun = {
    surroundings,
    screen: openScreen(surroundings, json === true),
    data,
    client: () => {
      client ??= openFarmClient(surroundings.env, data);
      return client;
    },
  };
  return {
    run,
    async close() {
      await (await client?.catch(() => undefined))?.close();
    },
  };
}
