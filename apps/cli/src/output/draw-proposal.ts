import { z } from 'zod';
import type { Paint } from './screen.js';
import { cellText, drawTable } from './table.js';
import { plainLine, plainText } from './terminal-text.js';

/** As far as it is drawn: a farm of another version may say more. */
const Proposal = z.looseObject({
  summary: z.string(),
  changes: z.array(z.looseObject({ id: z.string(), before: z.unknown(), after: z.unknown() })),
  count: z.int(),
});

/**
 * What an unconfirmed call would do: how many changes, and the first of them, each with what was and what would be (A6.2, A6.4).
 * @param told what the person has read already
 */
export function drawProposal(proposal: unknown, told: string, paint: Paint): string {
  const { data } = Proposal.safeParse(proposal);
  if (data === undefined) return `would ${cellText(proposal)}`;
  const { summary, changes } = data;
  const rows = changes.map((change) => [change.id, ...differenceOf(change.before, change.after)]);
  return [
    ...(summary === told ? [] : [plainText(summary)]),
    countLine(data),
    ...(rows.length === 0 ? [] : [drawTable(['what', 'before', 'after'], rows, paint)]),
  ].join('\n');
}

function countLine({ changes, count }: z.output<typeof Proposal>): string {
  if (count === 0) return 'it would change nothing';
  const shown = changes.length === count ? '' : `, of which ${changes.length} are shown`;
  return `it would change ${count} ${count === 1 ? 'thing' : 'things'}${shown}`;
}

/** Of two objects only the fields that differ. */
function differenceOf(before: unknown, after: unknown): readonly [string, string] {
  if (!isRow(before) || !isRow(after)) return [cellText(before), cellText(after)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => cellText(before[name]) !== cellText(after[name]));
  const told = (row: Row) => cellText(Object.fromEntries(changed.map((name) => [name, row[name]])));
  return [told(before), told(after)];
}

type Row = Readonly<Record<string, unknown>>;
const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

/** More than this nobody wants to type again. */
const longest = 400;

/** The command line that means it: the same words and `--yes`, quoted for a shell. */
export function confirmingCommand(words: readonly string[]): string {
  const end = words.indexOf('--');
  const at = end === -1 ? words.length : end;
  const typed = ['longshore', ...words.slice(0, at), '--yes', ...words.slice(at)].map(quoted).join(' ');
  return typed.length > longest ? 'the same command with --yes' : typed;
}

const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${plainLine(word).replaceAll("'", `'\\''`)}'`;
