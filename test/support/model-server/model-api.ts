import type { IncomingHttpHeaders } from 'node:http';
import type { StreamEvent } from './event-stream.js';
import type { AnswerTurn } from './script.js';

/** An answer as a stream: what comes before and after its gate. */
export interface Rendered {
  readonly first: readonly StreamEvent[];
  readonly second: readonly StreamEvent[];
}

/** How one vendor's API asks and answers. */
export interface ModelApi {
  /** Which session of the client this is; undefined where the request says nothing. */
  sessionOf(body: unknown, headers: IncomingHttpHeaders): string | undefined;
  /** Whether the agent itself asks: not its helper that finds a title or counts. */
  isAgent(body: unknown): boolean;
  render(turn: AnswerTurn, id: string, body: unknown): Rendered;
  errorBody(status: number): object;
}
