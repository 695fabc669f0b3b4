import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server';
import { FarmError } from '#contracts';
import { type Gate, type Registry, reservedFields } from '#gate';
import type { Services } from '../../farm.js';
import type { Caller } from '../http/caller.js';
import { notAvailable, rpc } from './json-rpc.js';
import type { ToolCall } from './read-message.js';
import { refusalOf, resultOf } from './results/tool-result.js';
import { confirmationField, toolOf } from './tool-of.js';

/** A request of a caller that was let in. */
export interface Asked {
  readonly caller: Caller;
  readonly call: ToolCall;
  /** The caller has gone. */
  readonly signal: AbortSignal;
}

export interface ToolDoor {
  readonly gate: Gate<Services>;
  readonly registry: Registry<Services>;
  /** Of a result's text (A8.1). */
  readonly mostBytes: number;
}

/**
 * Calls an operation through the gate. What is refused is a result that the model can read; what is hidden, absent or no name at all
 * is one error of the protocol, the same for all (A5.2, A5.3).
 */
export async function callTool(
  { gate, registry, mostBytes }: ToolDoor,
  { caller, call, signal }: Asked,
): Promise<CallToolResult> {
  const { input, token } = readArguments(call.input);
  const name = typeof call.name === 'string' ? call.name : '';
  try {
    const output = await gate.call({
      ...caller,
      name,
      input,
      ...(token !== undefined && { confirmationToken: token }),
      signal,
    });
    const operation = registry.find(name);
    return resultOf(output, { walk: operation && toolOf(operation).walk, mostBytes });
  } catch (error) {
    const failure = error instanceof FarmError ? error : new FarmError('internal');
    if (failure.code === 'not_available') throw new ProtocolError(rpc.invalidParams, notAvailable);
    const isPlugins = registry.find(name)?.access.plugin !== undefined;
    return refusalOf(namingReserved(failure, input), { mostBytes, isPlugins });
  }
}

/** The token of a proposal rides in the arguments, since a model can send nothing else; it is no part of the input (A6.6). */
function readArguments(given: unknown): { readonly input: unknown; readonly token?: string } {
  if (!isObject(given) || typeof given[confirmationField] !== 'string') return { input: given };
  const { [confirmationField]: token, ...input } = given;
  return { input, token };
}

/** Who tries to confirm, or to name a door or a caller, is told by name that nobody can (A1.3, A1.8). */
function namingReserved(failure: FarmError, input: unknown): FarmError {
  if (failure.code !== 'invalid_input' || !isObject(input)) return failure;
  const named = [...reservedFields].filter((field) => Object.hasOwn(input, field));
  if (named.length === 0) return failure;
  const fields = [...named.map((field) => ({ path: `/${field}`, rule: 'reserved' })), ...(failure.fields ?? [])];
  return new FarmError('invalid_input', failure.detail, { fields });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
