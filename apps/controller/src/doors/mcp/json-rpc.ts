/** Codes of JSON-RPC and MCP that a door answers (S1.3). */
export const rpc = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const;

/** The one answer for whatever a caller may not know of (A5.1 to A5.3). */
export const notAvailable = 'not available';

/** The words of each code: a door has no others, so that nothing of a caller's comes back in them. */
const words: ReadonlyMap<number, string> = new Map<number, string>([
  [rpc.parseError, 'Parse error'],
  [rpc.invalidRequest, 'Invalid request'],
  [rpc.methodNotFound, 'Method not found'],
  [rpc.invalidParams, 'Invalid params'],
  [rpc.internalError, 'Internal error'],
  [rpc.headerMismatch, 'The headers and the body disagree, or a required header is missing'],
  [rpc.unsupportedVersion, 'Unsupported protocol version'],
]);

export type MessageId = string | number;

export interface ErrorBody {
  readonly jsonrpc: '2.0';
  readonly id: MessageId | null;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export function errorBody(id: MessageId | null, code: number, data?: unknown): ErrorBody {
  const message = words.get(code) ?? 'Internal error';
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } };
}
