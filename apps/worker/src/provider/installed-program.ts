import { execa } from 'execa';
import type { Availability } from './port.js';

const lookMs = 20_000;

/** Asks a program about itself, without a word of ours on its stdin. It is ended after 20 s. */
export async function askProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly failed: boolean; readonly stdout: string }> {
  const asked = await execa(program, args, {
    env: environment,
    extendEnv: false,
    timeout: lookMs,
    reject: false,
    stdin: 'ignore',
  });
  return { failed: asked.failed, stdout: asked.stdout ?? '' };
}

interface Wanted {
  /** As people call it. */
  readonly name: string;
  /** Three numbers, each in a group of its own. */
  readonly version: RegExp;
  /** The oldest whose words we know. */
  readonly oldest: readonly [number, number, number];
  readonly installing: string;
}

/** The version of an agent's program, or why that is none for this worker. */
export async function versionOf(
  program: string,
  environment: Readonly<Record<string, string>>,
  { name, version, oldest, installing }: Wanted,
): Promise<{ readonly version: string } | Extract<Availability, { usable: false }>> {
  const told = await askProgram(program, ['--version'], environment);
  const found = version.exec(told.stdout);
  if (told.failed || found === null)
    return unusable('environment', `${name} can not be started on this machine.`, installing);
  const [whole] = found;
  if (isOlder(found.slice(1).map(Number), oldest))
    return unusable('environment', `${name} ${whole} is too old for this worker.`, installing);
  return { version: whole };
}

export function unusable(
  code: 'environment' | 'auth',
  reason: string,
  fix: string,
): Extract<Availability, { usable: false }> {
  return { usable: false, code, reason, fix };
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (const [place, least] of than.entries()) {
    const number = version[place] ?? 0;
    if (number !== least) return number < least;
  }
  return false;
}
