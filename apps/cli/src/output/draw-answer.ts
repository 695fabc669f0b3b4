import type { Paint } from './screen.js';
import { drawPairs, drawTable } from './table.js';

type Row = Readonly<Record<string, unknown>>;

/** The answer of any operation as text: its lists as tables, the rest as names and values. `columns` narrows the tables. */
export function drawAnswer(answer: unknown, paint: Paint, columns?: readonly string[]): string {
  if (!isRow(answer)) return drawPairs([['answer', answer]], paint);
  const entries = Object.entries(answer);
  const lists = entries.flatMap(([name, value]) => (isRows(value) ? [{ name, rows: value }] : []));
  const single = entries.filter(([name, value]) => !isRows(value) && !(name === 'next_cursor' && value === null));
  const pairs = single.length === 0 ? [] : [drawPairs(single, paint)];
  const tables = lists.map(({ name, rows }) => drawList(name, rows, paint, columns));
  return [...tables, ...pairs].join('\n\n');
}

function drawList(name: string, rows: readonly Row[], paint: Paint, columns?: readonly string[]): string {
  const [first] = rows;
  if (first === undefined) return paint.dim(`no ${name.replaceAll('_', ' ')}`);
  const head = columns ?? Object.keys(first);
  return drawTable(
    head,
    rows.map((row) => head.map((column) => row[column])),
    paint,
  );
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);
const isRows = (value: unknown): value is readonly Row[] => Array.isArray(value) && value.every(isRow);
