import pc from 'picocolors';
import { jsonLine } from './terminal-text.js';

/** What a command may touch of the process: handed in, so that a test is a caller like any other. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** Ends what waits when the person has had enough. */
  readonly signal: AbortSignal;
}

export type Paint = ReturnType<typeof pc.createColors>;

/**
 * Where words go (A9.5). Results go to stdout: text, or with `--json` JSON and nothing else. Messages go to stderr.
 * Text from outside must have gone through `plainText` before.
 */
export interface Screen {
  readonly json: boolean;
  /** Colours of results. */
  readonly paint: Paint;
  /** Colours of messages: stderr may be a terminal where stdout is a pipe, and the other way round. */
  readonly tint: Paint;
  /** A message to the person. */
  say(line: string): void;
  /** A result as text; silent with `--json`. */
  show(text: string): void;
  /** A result as JSON, one line; silent without `--json`. */
  answer(value: unknown): void;
}

export function openScreen(surroundings: Surroundings, json: boolean): Screen {
  const { stdout, stderr } = surroundings;
  const write = (to: NodeJS.WritableStream, text: string): void => {
    to.write(`${text}\n`);
  };
  return {
    json,
    paint: paintFor(surroundings, stdout),
    tint: paintFor(surroundings, stderr),
    say: (line) => write(stderr, line),
    show: (text) => {
      if (!json) write(stdout, text);
    },
    answer: (value) => {
      if (json) write(stdout, jsonLine(value));
    },
  };
}

/** Colours on a terminal that has them, and never with NO_COLOR. */
function paintFor(surroundings: Surroundings, stream: { readonly isTTY?: boolean }): Paint {
  const { NO_COLOR, TERM } = surroundings.env;
  return pc.createColors(stream.isTTY === true && (NO_COLOR ?? '') === '' && TERM !== 'dumb');
}
