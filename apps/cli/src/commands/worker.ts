import { hostname } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { password } from '@clack/prompts';
import type { Command } from 'commander';
import { FarmError, limits } from '#contracts';
import { farmAddress } from '../client/farm-address.js';
import { farmFolder } from '../client/farm-folder.js';
import { readSecretFile } from '../client/private-read.js';
import { logFolder } from '../farm/controller-process.js';
import type { NodeProcess } from '../farm/node-process.js';
import { sandboxEnvironment, unsafeNotice } from '../farm/sandbox.js';
import { hasJoined, startWorker } from '../farm/worker-process.js';
import type { Surroundings } from '../output/screen.js';
import { makePrivateFolder } from '../services/private-file.js';
import { CommandFailed, commandAt, type Frame, runs } from './frame.js';
import { tellWorkerEvent } from './worker-events.js';

/** A farm that is there lets a worker in long before this. */
const slowJoinMs = 5_000;

interface WorkerFlags {
  readonly join?: string;
  readonly ticketFile?: string;
  readonly home?: string;
  readonly slots?: string;
  readonly name?: string;
  readonly insecure?: boolean;
  readonly unsafe?: boolean;
}

/** `worker --join <url>`: this machine works for a farm, until Ctrl-C. Beside it stand the generated `worker list`, `pause`, … */
export function addWorker(program: Command, frame: Frame): void {
  const command = commandAt(program, ['worker'])
    .description('Let this machine work for a farm; list and steer the machines of a farm.')
    .option('--join <url>', 'address of the farm; the join ticket comes by prompt, stdin or --ticket-file')
    .option('--ticket-file <file>', 'file (0600) that holds the join ticket')
    .option('--home <dir>', 'folder of this worker (else <data>/worker)')
    .option('--slots <number>', 'sessions at once')
    .option('--name <name>', 'name of this machine in the farm')
    .option('--insecure', 'speak plain http to another machine, on a network that you trust')
    .option('--unsafe', 'let agents run without walls where this machine has no sandbox');
  runs<WorkerFlags>(command, frame, async (run, flags) => {
    const { screen, surroundings } = run;
    if (flags.join === undefined) command.help({ error: true });
    const url = farmAddress(flags.join ?? '');
    const name = flags.name ?? hostname().slice(0, 64);
    const data = farmFolder(surroundings.env, run.data);
    const home = flags.home ?? join(data, 'worker');
    await makePrivateFolder(home);
    const ticket = (await hasJoined(home)) ? undefined : await readTicket(flags.ticketFile, surroundings);
    const log = join(await logFolder(home), 'worker.log');
    if (flags.unsafe === true) screen.say(unsafeNotice);
    const stopOnEnd = (process: NodeProcess) => {
      const stop = () => process.signal('SIGTERM');
      surroundings.signal.addEventListener('abort', stop, { once: true });
      if (surroundings.signal.aborted) stop();
    };
    const slow = setTimeout(
      () => screen.say(`the farm at ${url} gives no answer yet; it is asked until it does (Ctrl-C ends this)`),
      slowJoinMs,
    );
    const worker = await startWorker({
      name,
      home,
      url,
      log,
      slots: flags.slots === undefined ? undefined : slotsOf(flags.slots),
      ticket,
      env: {
        ...sandboxEnvironment(surroundings.env, data, flags.unsafe),
        ...(flags.insecure === true && { LONGSHORE_INSECURE: '1' }),
      },
      onEvent: (event) => {
        screen.answer(event);
        tellWorkerEvent(name, event, screen);
      },
      onSpawn: stopOnEnd,
    }).finally(() => clearTimeout(slow));
    screen.say(`worker ${worker.workerId} works for ${url}; its log is ${log}; Ctrl-C lets it hand in what it has`);
    const { code, signal } = await worker.process.ended;
    if (surroundings.signal.aborted || code === 0) return;
    screen.say(`the worker ended by itself (${signal ?? `exit ${code}`}): see ${log}`);
    throw new CommandFailed(1);
  });
}

function slotsOf(given: string): number {
  const slots = Number(given);
  if (Number.isInteger(slots) && slots >= 1 && slots <= 1024) return slots;
  throw new FarmError('invalid_input', '--slots is not a whole number from 1 to 1024.');
}

/** Never from the command line itself: every user of this machine can read that (H22). */
async function readTicket(file: string | undefined, { stdin, env }: Surroundings): Promise<string> {
  const given = file === undefined ? await askForTicket(stdin, env) : await readTicketFile(file);
  const ticket = given?.trim() ?? '';
  if (ticket !== '' && ticket.length <= 256) return ticket;
  throw new FarmError('ticket_invalid', 'There is no join ticket there.', {
    hint: `\`longshore worker invite\` at the farm makes one; it is good for ${limits.joinTicketSeconds / 60} minutes.`,
  });
}

async function readTicketFile(file: string): Promise<string> {
  const text = await readSecretFile(file);
  if (text !== undefined) return text;
  throw new FarmError('invalid_input', `There is no file ${file}.`, {
    hint: 'Name the file that holds the join ticket with --ticket-file, or give the ticket by prompt or stdin.',
  });
}

async function askForTicket(stdin: Surroundings['stdin'], env: Surroundings['env']): Promise<string> {
  if (stdin.isTTY !== true || env.CI !== undefined) return await text(stdin);
  const answer = await password({ message: 'Join ticket (`longshore worker invite` at the farm makes one)' });
  return typeof answer === 'string' ? answer : '';
}
