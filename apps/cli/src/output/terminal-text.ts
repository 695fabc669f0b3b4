import { stripVTControlCharacters } from 'node:util';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that a terminal obeys
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** They turn the reading order round, so that a line shows something else than it holds. */
const bidirectional = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text from outside (members, repositories, workers), safe to print: what is left only prints (H38). Line ends and tabs stay. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text.replace(/\r\n?/g, '\n')).replace(controls, '').replace(bidirectional, '');
}

/** The same on one line. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, ' ').trim();
}

/** JSON that a terminal can be shown: JSON itself escapes C0 only, and U+009B starts a sequence just as ESC [ does. */
export function jsonLine(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(
    /[\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
