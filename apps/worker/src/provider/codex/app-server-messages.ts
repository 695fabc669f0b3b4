import { z } from 'zod';

/** One line of `codex app-server`: JSON-RPC without its version field. */
export type AppServerMessage =
  | { readonly kind: 'request'; readonly id: string | number; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'reply'; readonly id: number; readonly reply: Reply };

export type Reply =
  | { readonly ok: true; readonly result: unknown }
  /** `lost`: the process ended before it answered. */
  | { readonly ok: false; readonly code: number; readonly lost: boolean };

const Request = z.looseObject({ id: z.union([z.int(), z.string()]), method: z.string(), params: z.unknown() });
const Notification = z.looseObject({ method: z.string(), params: z.unknown() });
const Result = z.looseObject({ id: z.int(), result: z.unknown() });
const Refusal = z.looseObject({ id: z.int(), error: z.looseObject({ code: z.int() }) });

/** What is no message (a stray print) is undefined. */
export function parseMessage(line: string): AppServerMessage | undefined {
  const content = parseJson(line);
  if (typeof content !== 'object' || content === null) return undefined;
  if ('method' in content) {
    const request = Request.safeParse(content);
    if (request.success && 'id' in content) return { kind: 'request', ...request.data };
    const notification = Notification.safeParse(content);
    return notification.success ? { kind: 'notification', ...notification.data } : undefined;
  }
  if ('error' in content) {
    const refusal = Refusal.safeParse(content).data;
    return refusal && { kind: 'reply', id: refusal.id, reply: { ok: false, code: refusal.error.code, lost: false } };
  }
  const result = Result.safeParse(content).data;
  return result && { kind: 'reply', id: result.id, reply: { ok: true, result: result.result } };
}

function parseJson(line: string): unknown {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

export const ThreadReply = z.looseObject({
  thread: z.looseObject({ id: z.string().min(1) }),
  model: z.string().optional(),
});
export const TurnReply = z.looseObject({ turn: z.looseObject({ id: z.string().min(1) }) });

/** Why a turn failed: a name, or a name with the HTTP status of the model's API. */
const ErrorCode = z.union([z.string(), z.record(z.string(), z.unknown())]);
export const TurnError = z.looseObject({ message: z.string().default(''), codexErrorInfo: ErrorCode.nullish() });
export type TurnError = z.output<typeof TurnError>;

export const ErrorNote = z.looseObject({ error: TurnError, willRetry: z.boolean().default(false) });
export const TurnNote = z.looseObject({
  threadId: z.string(),
  turn: z.looseObject({ id: z.string(), status: z.string(), error: TurnError.nullish() }),
});

const tokens = z.int().min(0).catch(0);
export const UsageNote = z.looseObject({
  turnId: z.string(),
  tokenUsage: z.looseObject({
    last: z.looseObject({ inputTokens: tokens, cachedInputTokens: tokens, outputTokens: tokens }),
  }),
});

const Window = z.looseObject({ usedPercent: z.number(), resetsAt: z.number().nullish() }).nullish();
/** `resetsAt` in seconds of Unix time. */
export const RateLimits = z.looseObject({ primary: Window, secondary: Window });
export type RateLimits = z.output<typeof RateLimits>;
export const RateLimitsNote = z.looseObject({ rateLimits: RateLimits });

export const ItemNote = z.looseObject({ item: z.looseObject({ type: z.string(), id: z.string() }) });
