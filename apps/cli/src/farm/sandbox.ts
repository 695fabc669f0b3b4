import { delimiter } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { childEnvironment } from '../services/child-environment.js';
import { programOf } from './programs.js';

const RungProof = z.strictObject({
  rung: z.enum(['none', 'process', 'bwrap']),
  works: z.boolean(),
  found: z.string(),
  fix: z.string().optional(),
});
type RungProof = z.output<typeof RungProof>;

/** Runs each rung of the worker's sandbox on this machine. Throws where the proof itself cannot be run. */
export async function proveSandbox(): Promise<readonly RungProof[]> {
  const main = programOf('worker', 'process/sandbox/prove-main');
  const options = { env: childEnvironment(), extendEnv: false, stdin: 'ignore', timeout: 60_000 } as const;
  const { stdout } = await execa(process.execPath, [main], options);
  const said: unknown = JSON.parse(stdout);
  return z.array(RungProof).parse(said);
}

/** Labels of a worker on this machine: the walls that were proved, so that jobs may ask for them (H26). */
export async function sandboxLabels(): Promise<string[]> {
  const proofs = await proveSandbox().catch(() => []);
  return proofs.flatMap(({ rung, works }) => (works && rung === 'bwrap' ? [`sandbox:${rung}`] : []));
}

const passedOn = [
  'LONGSHORE_SANDBOX',
  'LONGSHORE_UNSAFE',
  'LONGSHORE_SANDBOX_READABLE',
  'LONGSHORE_SANDBOX_PRIVATE_HOSTS',
] as const;

/** What the machine's owner says of sandboxes, for a worker; the farm's own folder is hidden in any case. */
export function sandboxEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  data: string,
  unsafe: boolean | undefined,
): Readonly<Record<string, string>> {
  const given = passedOn.flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const hidden = [env.LONGSHORE_SANDBOX_HIDDEN, data].filter((path) => path !== undefined && path !== '');
  return {
    ...Object.fromEntries(given),
    LONGSHORE_SANDBOX_HIDDEN: hidden.join(delimiter),
    ...(unsafe === true && { LONGSHORE_UNSAFE: '1' }),
  };
}

/** Said at every start where agents may run without walls (H28). */
export const unsafeNotice =
  'UNSAFE: where this machine has no sandbox, agents run WITHOUT WALLS: they can read your files and keys and reach every host that you can.';
