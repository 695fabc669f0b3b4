import { delimiter, isAbsolute } from 'node:path';
import { z } from 'zod';
import { FarmError } from '#contracts';
import { type SandboxRung, sandboxRungs } from './rules.js';

/** What the machine's owner says of sandboxes; the farm can only ask for more (H27). */
export interface SandboxSettings {
  /** auto: the walls where a real agent or foreign code runs, none for the scripted provider. */
  readonly rung: 'auto' | SandboxRung;
  /** Real agents may run without walls (H28). */
  readonly unsafe: boolean;
  /** More folders that sessions may read: toolchains. */
  readonly readable: readonly string[];
  /** Folders that no session may see, also where a readable one holds them. */
  readonly hidden: readonly string[];
  /** Hosts that may stand for private addresses: a registry of the house. */
  readonly privateHosts: readonly string[];
  /** Hosts that jobs may reach at most, beside those of their providers; undefined: what the farm lists (H27). */
  readonly egress?: readonly string[];
}

const folders = z
  .string()
  .default('')
  .transform((value) => value.split(delimiter).filter((path) => path !== ''))
  .refine((paths) => paths.every(isAbsolute));

const Environment = z.object({
  LONGSHORE_SANDBOX: z.enum(['auto', ...sandboxRungs]).default('auto'),
  LONGSHORE_UNSAFE: z.enum(['0', '1']).default('0'),
  LONGSHORE_SANDBOX_READABLE: folders,
  LONGSHORE_SANDBOX_HIDDEN: folders,
  LONGSHORE_SANDBOX_PRIVATE_HOSTS: z
    .string()
    .default('')
    .transform((value) => value.split(',').filter((host) => host !== '')),
  LONGSHORE_SANDBOX_EGRESS: z
    .string()
    .transform((value) => value.split(',').filter((host) => host !== ''))
    .optional(),
});

/** @throws FarmError `misconfigured` naming the variables that do not hold, never their values */
export function readSandboxSettings(environment: Readonly<Record<string, string | undefined>>): SandboxSettings {
  const parsed = Environment.safeParse(environment);
  if (!parsed.success) {
    const names = [...new Set(parsed.error.issues.map((issue) => issue.path.join('.')))].join(', ');
    throw new FarmError('misconfigured', `These settings do not hold: ${names}.`, {
      hint: `LONGSHORE_SANDBOX is auto, ${sandboxRungs.join(', ')}; folders are absolute paths.`,
    });
  }
  const given = parsed.data;
  return {
    rung: given.LONGSHORE_SANDBOX,
    unsafe: given.LONGSHORE_UNSAFE === '1',
    readable: given.LONGSHORE_SANDBOX_READABLE,
    hidden: given.LONGSHORE_SANDBOX_HIDDEN,
    privateHosts: given.LONGSHORE_SANDBOX_PRIVATE_HOSTS,
    ...(given.LONGSHORE_SANDBOX_EGRESS && { egress: given.LONGSHORE_SANDBOX_EGRESS }),
  };
}
