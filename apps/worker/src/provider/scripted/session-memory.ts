import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { scriptWhenThereIsNone } from './example-script.js';
import { continuationKind, findScript, memberOf, toldText } from './find-script.js';

const Memory = z.strictObject({
  ref: z.string(),
  script: z.string(),
  continuation: z.string(),
  member: z.string(),
  told: z.string(),
  /** The reminder that is being answered; 0 in the first turn. */
  reminder: z.int().min(0),
});

/** What a session knows when another process goes on with it. */
export type SessionMemory = z.output<typeof Memory>;

export function newMemory(instructions: string, input: string): SessionMemory {
  const script = findScript(instructions, input) ?? scriptWhenThereIsNone;
  return {
    ref: randomUUID(),
    script,
    continuation: continuationKind(input),
    member: memberOf(input),
    told: toldText(input),
    reminder: 0,
  };
}

/** The session as it was left, one reminder later; nothing where it is another one, or none. */
export async function readMemory(path: string, ref: string): Promise<SessionMemory | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const memory = Memory.safeParse(JSON.parse(text)).data;
  return memory?.ref === ref ? { ...memory, reminder: memory.reminder + 1 } : undefined;
}

export async function writeMemory(path: string, memory: SessionMemory): Promise<void> {
  await writeFile(path, JSON.stringify(memory), { mode: 0o600 });
}
