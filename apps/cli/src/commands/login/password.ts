import { text } from 'node:stream/consumers';
import { password } from '@clack/prompts';
import type { Command } from 'commander';
import { fetch } from 'undici';
import { FarmError, loginPaths, PasswordRequest, whoami } from '#contracts';
import { readSecretFile } from '../../client/private-read.js';
import { noAnswer, refusal } from '../../client/send-json.js';
import type { Surroundings } from '../../output/screen.js';
import { commandAt, type Frame, runs } from '../frame.js';

/** `password`: a new password, by prompt, stdin or a file; never from the command line, which all of this machine can read (H22). */
export function addPassword(program: Command, frame: Frame): void {
  const command = commandAt(program, ['password'])
    .description('Choose a new password; every login of yours ends.')
    .option('--name <name>', 'whose password (else yours)')
    .option('--file <file>', 'two lines, the password and the new one; without a terminal they are read from stdin');
  runs<{ name?: string; file?: string }>(command, frame, async (run, flags) => {
    const { screen, surroundings } = run;
    const { signal } = surroundings;
    const client = await run.client();
    const name = flags.name ?? (await client.call(whoami, {}, { signal })).name;
    const [old = '', chosen = ''] = await readPasswords(flags.file, surroundings);
    const asked = PasswordRequest.safeParse({ name, password: old, new_password: chosen });
    if (!asked.success)
      throw new FarmError(
        'invalid_input',
        'The new password is too short, too long, or has characters that can not be kept.',
        {
          hint: 'Take at least 12 characters; length is what counts.',
        },
      );
    const url = `${client.url}${loginPaths.password}`;
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked.data),
      redirect: 'error',
      signal,
    }).catch((error: unknown) => {
      throw signal.aborted ? error : noAnswer(url, error);
    });
    if (!response.ok) throw refusal(response.status, await response.text());
    screen.answer({ changed: true, name });
    screen.say('the password is changed; every login by the old one is over (longshore login <address>)');
  });
}

async function readPasswords(file: string | undefined, surroundings: Surroundings): Promise<readonly string[]> {
  const { stdin, env } = surroundings;
  if (file !== undefined) return linesOf((await readSecretFile(file)) ?? '');
  if (stdin.isTTY !== true || env.CI !== undefined) return linesOf(await text(stdin));
  const old = await ask('Password');
  const chosen = await ask('New password (at least 12 characters)');
  if ((await ask('The new one again')) !== chosen)
    throw new FarmError('invalid_input', 'The two new passwords are not the same.');
  return [old, chosen];
}

async function ask(message: string): Promise<string> {
  const answer = await password({ message });
  if (typeof answer === 'string') return answer;
  throw new FarmError('invalid_input', 'No password was given.');
}

const linesOf = (content: string) => content.split(/\r?\n/);
