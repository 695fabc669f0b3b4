import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { FarmError } from '#contracts';
import { farmFolder } from '../client/farm-folder.js';
import type { FirstAdmin } from '../farm/controller-process.js';
import { LocalFarm } from '../farm/local-farm.js';
import { sandboxEnvironment, unsafeNotice } from '../farm/sandbox.js';
import type { Screen } from '../output/screen.js';
import { drawPairs } from '../output/table.js';
import { commandAt, type Frame, runs } from './frame.js';
import { tellWorkerEvent } from './worker-events.js';

interface UpFlags {
  readonly workers: string;
  readonly slots: string;
  readonly port?: string;
  readonly config?: string;
  readonly host?: string;
  readonly publicUrl?: string;
  readonly insecure?: boolean;
  readonly install?: boolean;
  readonly unsafe?: boolean;
}

/** `up` (npm start): the farm of this machine, kept up until Ctrl-C, which drains it; a second Ctrl-C ends it at once. */
export function addUp(program: Command, frame: Frame): void {
  const command = commandAt(program, ['up'])
    .description('Run the farm of this machine: PostgreSQL, NATS, a controller and workers.')
    .option('--workers <number>', 'workers on this machine', '1')
    .option('--slots <number>', 'sessions at once, per worker', '2')
    .option('--config <file>', 'settings of the controller (else longshore.toml in the data folder)')
    .option('--port <number>', 'port of the controller (else 4180, or what the settings say); 0 takes a free one')
    .option('--host <address>', 'address to listen at (else 127.0.0.1); others need TLS or --insecure')
    .option('--public-url <url>', 'address under which other machines reach this farm')
    .option('--insecure', 'serve another address than loopback without TLS: behind a proxy that has it')
    .option('--install', 'nats-server may be installed by the package manager')
    .option('--unsafe', 'let agents run without walls where this machine has no sandbox');
  runs<UpFlags>(command, frame, async (run, flags) => {
    const { screen, surroundings } = run;
    const count = wholeNumber('--workers', flags.workers, 0, 64);
    const slots = wholeNumber('--slots', flags.slots, 1, 256);
    const data = farmFolder(surroundings.env, run.data);
    const config = configOf(flags.config ?? surroundings.env.LONGSHORE_CONFIG);
    const port = portOf(flags.port, config ?? join(data, 'longshore.toml'));
    const say = (line: string) => screen.say(line);
    const stopped = new StopRequest();
    const { host, publicUrl, insecure, install } = flags;
    let admin: FirstAdmin | undefined;
    const options = {
      data,
      config,
      env: { ...surroundings.env },
      port,
      host,
      publicUrl,
      insecure,
      install,
      again: true,
      say,
      // Told at once: whatever fails after this, it is told this once.
      onFirstAdmin: (made: FirstAdmin) => {
        admin = made;
        if (!screen.json)
          say(`the admin of this farm: name ${made.name}, password ${made.password}   (shown this once)`);
      },
    };
    say(`starting the farm in ${data}`);
    if (flags.unsafe === true) say(unsafeNotice);
    const env = sandboxEnvironment(surroundings.env, data, flags.unsafe);
    try {
      const farm = await LocalFarm.open(options);
      try {
        stopped.onSecond(() => farm.endAtOnce());
        for (let number = 1; number <= count && !stopped.asked; number += 1) {
          const name = `local-${number}`;
          const onEvent = (event: Parameters<typeof tellWorkerEvent>[1]) => tellWorkerEvent(name, event, screen);
          await farm.addWorker({ name, slots, env, onEvent }).catch((error: unknown) => {
            // its owner's to mend: the farm and the other machines have no part in it
            if (!(error instanceof FarmError) || error.code !== 'misconfigured') throw error;
            say(`${error.detail} The farm goes on without it; mend it and start again.`);
          });
        }
        if (!stopped.asked) tellFarm(farm, data, count, admin, screen);
        await stopped.first;
        say('draining: workers hand in what they have (Ctrl-C again ends at once)');
      } finally {
        await farm.stop();
      }
    } finally {
      stopped.close();
    }
    say('the farm is down; its state is kept');
  });
}

/** From where the command was given: the controller has a folder of its own. */
function configOf(asked: string | undefined): string | undefined {
  if (asked === undefined || asked === '') return undefined;
  const file = resolve(asked);
  if (existsSync(file)) return file;
  throw new FarmError('invalid_input', `There is no file ${file}`, {
    hint: 'Name it by --config or LONGSHORE_CONFIG.',
  });
}

/** A file of settings may name the port; without one it is known here, and told before anything is started. */
function portOf(flag: string | undefined, config: string): number | undefined {
  if (flag !== undefined) return wholeNumber('--port', flag, 0, 65_535);
  return existsSync(config) ? undefined : 4180;
}

function tellFarm(farm: LocalFarm, data: string, workers: number, admin: FirstAdmin | undefined, screen: Screen): void {
  // another folder than the one that commands look into by themselves
  const where = data === farmFolder(process.env) ? '' : ` --data ${data}`;
  const join_command = `npm run longshore -- worker --join ${farm.url}`;
  const facts = {
    url: farm.url,
    credential_file: farm.credentialFile,
    data,
    logs: join(data, 'logs'),
    workers,
    join_command,
    ticket_command: `npm run longshore -- worker invite${where}`,
  };
  screen.answer({ ready: true, ...facts, ...(admin && { first_admin: admin }) });
  screen.show(
    drawPairs(
      [
        ['farm', facts.url],
        ['credential', `${facts.credential_file} (0600; the CLI on this machine uses it by itself)`],
        ['state', facts.data],
        ['logs', facts.logs],
        ['workers', `${workers} on this machine`],
        ['another one', `${join_command}   (asks for a ticket: ${facts.ticket_command})`],
        ['look', `npm run longshore -- status${where}`],
      ],
      screen.paint,
    ),
  );
  screen.say('Ctrl-C drains and ends it.');
}

/** A closed terminal (SIGHUP) is a wish to end, too. */
const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The first wish to end, and the second. */
class StopRequest {
  readonly first: Promise<void>;
  asked = false;
  private second: (() => void) | undefined;
  private resolveFirst: () => void = () => undefined;
  private readonly heard = (): void => {
    if (this.asked) this.second?.();
    this.asked = true;
    this.resolveFirst();
  };

  constructor() {
    this.first = new Promise((resolve) => {
      this.resolveFirst = resolve;
    });
    for (const signal of endings) process.on(signal, this.heard);
  }

  onSecond(act: () => void): void {
    this.second = act;
  }

  close(): void {
    for (const signal of endings) process.off(signal, this.heard);
  }
}

function wholeNumber(flag: string, given: string, low: number, high: number): number {
  const number = Number(given);
  if (given.trim() !== '' && Number.isInteger(number) && number >= low && number <= high) return number;
  throw new FarmError('invalid_input', `${flag} is not a whole number from ${low} to ${high}.`);
}
