import { z } from 'zod';
import { ProviderEvent } from '../events.js';

/** Adapter to the scripted process: one JSON per line on its stdin. */
export const ScriptedOrder = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('begin'),
    instructions: z.string(),
    input: z.string(),
    epoch: z.int().min(1),
    /** Holds a MemberDoorFile; readable by this user only, gone once the session began. */
    door_file: z.string(),
    /** What a session leaves for another process that goes on with it; `ref` only there. */
    memory_file: z.string(),
    ref: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('say'),
    id: z.int(),
    kind: z.enum(['reminder', 'continuation']),
    count: z.int().min(0),
    text: z.string(),
  }),
  z.strictObject({ type: z.literal('steer'), id: z.int(), text: z.string() }),
  z.strictObject({ type: z.literal('interrupt'), id: z.int() }),
]);
export type ScriptedOrder = z.output<typeof ScriptedOrder>;

/** The scripted process to its adapter: one JSON per line on its stdout. Its end is the end of the process. */
export const ScriptedReport = z.union([
  ProviderEvent,
  z.strictObject({ type: z.literal('ack'), id: z.int(), delivery: z.enum(['delivered', 'not_running']) }),
]);
export type ScriptedReport = z.output<typeof ScriptedReport>;

export const MemberDoorFile = z.strictObject({ url: z.url(), token: z.string().min(1) });
