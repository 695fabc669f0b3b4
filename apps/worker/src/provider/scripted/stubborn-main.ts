/**
 * The grandchild that will not go. Called twice: the first one starts the second and ends, so that the second is nobody's child,
 * in a session of its own. Arguments: a JSON object. The second says its pid on stdout once it is deaf to TERM.
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { z } from 'zod';

const Wish = z.strictObject({
  stage: z.enum(['middle', 'last']),
  /** The process whose end it outlives. */
  parent: z.int(),
  ignore_term: z.boolean(),
  bare_environment: z.boolean(),
  writes: z.string().optional(),
});

const given: unknown = JSON.parse(process.argv[2] ?? '{}');
const wish = Wish.parse(given);

if (wish.stage === 'middle') {
  const last = spawn(process.execPath, [process.argv[1] ?? '', JSON.stringify({ ...wish, stage: 'last' })], {
    detached: true,
    // 1: its word that it is ready. 2 and 3: the provider's own output, held open.
    stdio: ['ignore', 'inherit', 'inherit', 3],
    ...(wish.bare_environment ? { env: {} } : {}),
  });
  last.unref();
} else {
  stay();
}

function stay(): void {
  let told = false;
  process.on('SIGTERM', () => {
    told = true;
    if (!wish.ignore_term) process.exit(0);
  });
  setInterval(() => {
    if (wish.writes !== undefined && (told || !isAlive(wish.parent))) appendFileSync(wish.writes, 'still here\n');
  }, 20);
  process.stdout.write(`${process.pid}\n`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
