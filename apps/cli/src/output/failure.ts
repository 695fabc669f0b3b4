import {
  errorCodes,
  exitCodeOf,
  FarmError,
  type FieldError,
  isFarmErrorCode,
  type Problem,
  type WhoActs,
} from '#contracts';
import { confirmingCommand, drawProposal } from './draw-proposal.js';
import type { Screen } from './screen.js';
import { plainLine, plainText } from './terminal-text.js';

/** An error as the command line tells it: what, the way out, who must act, and with which number the program ends (A9.3). */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly who?: WhoActs;
  readonly fields?: readonly FieldError[];
  /** What an unconfirmed call would have done (A6.2). */
  readonly proposal?: unknown;
  /** Request id, to find the call in the controller's log. */
  readonly instance?: string;
  readonly exit: number;
}

/** What a farm answered instead of a result. Its code may be one that this version does not know. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError';
  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`);
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof RemoteError) return ofProblem(error.problem);
  if (error instanceof FarmError) {
    const { code, detail, hint, fields } = error;
    return complete({ code, message: detail, ...(hint && { hint }), ...(fields && { fields }) });
  }
  const message = error instanceof Error ? error.message : 'Something that is no error was thrown.';
  return complete({ code: 'internal', message, hint: 'This is a fault of ours: please report it with the command.' });
}

function ofProblem(problem: Problem): Failure {
  const { code, title, detail, hint, fields, instance, proposal } = problem;
  return complete({
    code,
    message: detail ?? title,
    ...(hint !== undefined && { hint }),
    ...(fields !== undefined && {
      fields: fields.map(({ path, rule, count }) => ({ path, rule, ...(count !== undefined && { count }) })),
    }),
    ...(instance !== undefined && { instance }),
    ...(proposal !== undefined && { proposal }),
  });
}

function complete(failure: Omit<Failure, 'who' | 'exit'>): Failure {
  const who = isFarmErrorCode(failure.code) ? { who: errorCodes[failure.code].who } : {};
  return { ...failure, ...who, exit: exitCodeOf(failure.code) };
}

const action: Readonly<Record<WhoActs, string>> = {
  caller: 'you, by another call',
  admin: 'an admin of the farm',
  nobody: 'nobody, try again in a moment',
  us: 'the makers: please report it',
};

/**
 * Text on stderr in any case, and the same as JSON on stdout when it was asked for (A9.5).
 * @param words the command line that failed: what to type where it only needs a confirmation
 */
export function tellFailure(failure: Failure, screen: Screen, words: readonly string[]): void {
  const { exit: _exit, ...told } = failure;
  screen.answer({ ok: false, error: told });
  const { tint } = screen;
  screen.say(`${tint.red(plainLine(failure.code))}: ${plainText(failure.message)}`);
  for (const field of failure.fields ?? []) screen.say(`  ${plainLine(field.path)}: ${plainLine(field.rule)}`);
  if (failure.proposal !== undefined) screen.say(indented(drawProposal(failure.proposal, failure.message, tint)));
  if (failure.code === 'confirmation_required') {
    screen.say(`  → ${confirmingCommand(words)}`);
    return;
  }
  if (failure.hint !== undefined) screen.say(`  → ${plainText(failure.hint)}`);
  // Where the hint is the way out, "nobody" would send the person away.
  if (failure.who !== undefined && !(failure.who === 'nobody' && failure.hint !== undefined))
    screen.say(tint.dim(`  who acts: ${action[failure.who]}`));
}

const indented = (text: string) => text.replace(/^/gm, '  ');
