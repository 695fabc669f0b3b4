import { z } from 'zod';

/**
 * Where in a terminal sequence a text stopped: `text`, after a carriage return, after ESC, in its intermediates, in a control
 * sequence, in a control string, or after an ESC within one.
 */
export const SanitizerState = z.enum(['t', 'r', 'e', 'i', 'c', 's', 'x']);
export type SanitizerState = z.output<typeof SanitizerState>;

/**
 * Control characters but TAB and LF, and what turns the reading order round (ALM, LRM, RLM, embeddings, overrides and isolates): a
 * line would show something else than it holds. Whatever `steps` does not show as it stands is one of these, or follows one.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that a terminal obeys
const unshown = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

interface Step {
  readonly shown: string;
  readonly state: SanitizerState;
}

/**
 * Text of a command as a terminal or a browser may show it: without control characters, terminal sequences (ECMA-48, also in their
 * C1 form) and what turns the reading order round. Line ends become LF. A page may end within a sequence: the next goes on in the
 * state. No sequence hides more than the rest of its line.
 */
export function sanitizeOutput(
  text: string,
  from: SanitizerState,
): { readonly text: string; readonly state: SanitizerState } {
  // most of what commands say needs no look at each character
  if (from === 't' && !unshown.test(text)) return { text, state: 't' };
  const shown: string[] = [];
  let state = from;
  for (const character of text) {
    const step = steps[state](character);
    if (step.shown !== '') shown.push(step.shown);
    state = step.state;
  }
  return { text: shown.join(''), state };
}

const hide = (state: SanitizerState): Step => ({ shown: '', state });
const lineEnd: Step = { shown: '\n', state: 't' };
const isBetween = (character: string, first: string, last: string) => character >= first && character <= last;

const steps: Readonly<Record<SanitizerState, (character: string) => Step>> = {
  t: inText,
  r: (character) => (character === '\n' ? hide('t') : inText(character)),
  e: afterEscape,
  i: (character) => {
    if (isBetween(character, ' ', '/')) return hide('i');
    return isBetween(character, '0', '~') ? hide('t') : inText(character);
  },
  c: (character) => {
    if (isBetween(character, ' ', '?')) return hide('c');
    return isBetween(character, '@', '~') ? hide('t') : inText(character);
  },
  s: (character) => {
    if (character === '\n') return lineEnd;
    if (character === '\x07' || character === '\x9c') return hide('t');
    return hide(character === '\x1b' ? 'x' : 's');
  },
  x: (character) => (character === '\\' ? hide('t') : afterEscape(character)),
};

function inText(character: string): Step {
  if (character === '\r') return { shown: '\n', state: 'r' };
  if (character === '\n' || character === '\t') return { shown: character, state: 't' };
  if (character === '\x1b') return hide('e');
  if (character === '\x9b') return hide('c');
  if ('\x90\x98\x9d\x9e\x9f'.includes(character)) return hide('s');
  if (unshown.test(character)) return hide('t');
  return { shown: character, state: 't' };
}

function afterEscape(character: string): Step {
  if (character === '[') return hide('c');
  if (']PX^_'.includes(character)) return hide('s');
  if (isBetween(character, ' ', '/')) return hide('i');
  return isBetween(character, '0', '~') ? hide('t') : inText(character);
}
