import Table from 'cli-table3';
import type { Paint } from './screen.js';
import { plainLine } from './terminal-text.js';

const bare = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** Rows under a head; cells are made plain here, so that nobody can forget to. */
export function drawTable(head: readonly string[], rows: readonly (readonly unknown[])[], paint: Paint): string {
  const table = new Table({
    head: head.map((title) => paint.bold(title.replaceAll('_', ' '))),
    chars: bare,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) table.push(row.map(cellText));
  return trimLines(table.toString());
}

/** Names and values, one pair a line. */
export function drawPairs(pairs: readonly (readonly [string, unknown])[], paint: Paint): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length));
  return pairs
    .map(([name, value]) => `${paint.dim(name.replaceAll('_', ' ').padEnd(width))}  ${cellText(value)}`.trimEnd())
    .join('\n');
}

/** A value in a few characters: lists with commas, objects as `name value`, nothing as a dash. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(cellText).join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([name, inner]) => `${plainLine(name).replaceAll('_', ' ')} ${cellText(inner)}`)
      .join(', ');
  }
  return plainLine(String(value));
}

const trimLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
