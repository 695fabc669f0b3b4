import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivateFile } from '../private-file.js';
import type { Enclosure } from '../process/guarded-tree.js';
import type { RepositorySettings } from './job-settings.js';

/** Of the machine, the sandbox or the provider: what they say stands. */
const kept = /^(PATH|HOME|TMPDIR|SHELL|USER|LOGNAME|PWD|.*_proxy|ANTHROPIC_.*|CLAUDE_.*|OPENAI_.*|CODEX_.*)$/i;

// reads the variables and becomes the command; nothing of them is in an argument (H22)
const enter = '. "$1"; shift; exec "$@"';

/**
 * Gives a command the environment and the secrets of its repository, inside the walls: they come from a file in the state folder
 * when the walls stand already, so that a variable such as LD_PRELOAD is no order to the programs that build them.
 *
 * @throws FarmError `disk_full`
 */
export async function insideEnvironment(stateFolder: string, settings: RepositorySettings): Promise<Enclosure> {
  const given = Object.entries({ ...settings?.environment, ...settings?.secrets }).filter(([name]) => !kept.test(name));
  if (given.length === 0) return (command) => command;
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  const file = join(stateFolder, 'environment.sh');
  await writePrivateFile(file, given.map(([name, value]) => `export ${name}=${quoted(value)}\n`).join(''));
  return ({ file: program, args, ...command }) => ({
    ...command,
    file: '/bin/sh',
    args: ['-c', enter, 'sh', file, program, ...args],
  });
}

const quoted = (value: string): string => `'${value.replaceAll("'", `'\\''`)}'`;
