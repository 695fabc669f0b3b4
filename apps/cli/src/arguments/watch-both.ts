import type { Command } from 'commander';
import { FarmError } from '#contracts';

/**
 * `--x` and `--no-x` in one call contradict each other, and the last would win in silence. Answers what the action calls first.
 *
 * @throws FarmError invalid_input, when both were given
 */
export function watchBoth(command: Command, ...names: readonly string[]): () => void {
  const seen = new Set<string>();
  for (const name of names)
    for (const flag of [name, `no-${name}`]) command.on(`option:${flag}`, () => void seen.add(flag));
  return () => {
    const twice = names.find((name) => seen.has(name) && seen.has(`no-${name}`));
    if (twice !== undefined)
      throw new FarmError('invalid_input', `--${twice} and --no-${twice} contradict each other.`, {
        hint: 'Leave one of them out.',
      });
  };
}
