import { stringify } from 'yaml';
import type { Paint } from './screen.js';
import { drawPairs, drawTable } from './table.js';
import { plainLine, plainText } from './terminal-text.js';

type Row = Readonly<Record<string, unknown>>;

/**
 * The answer of any operation as text: names and values, its lists as tables, documents inside it as YAML, and how to see more.
 * `columns` narrows the tables.
 */
export function drawAnswer(answer: unknown, paint: Paint, columns?: readonly string[]): string {
  if (!isRow(answer)) return drawPairs([['answer', answer]], paint);
  const { next_cursor: more, ...facts } = answer;
  const entries = Object.entries(facts);
  const single = entries.filter(([, value]) => !isRows(value) && !isDeep(value));
  const lists = entries.flatMap(([name, value]) => (isRows(value) ? [drawList(name, value, paint, columns)] : []));
  const deep = entries.filter(([, value]) => isDeep(value));
  const documents = deep.map(([name, value]) => `${paint.bold(name)}\n${plainText(stringify(value)).trimEnd()}`);
  return [
    ...(single.length === 0 ? [] : [drawPairs(single, paint)]),
    ...lists,
    ...documents,
    ...(typeof more === 'string' ? [paint.dim(`more with --cursor ${plainLine(more)}`)] : []),
  ].join('\n\n');
}

function drawList(name: string, rows: readonly Row[], paint: Paint, columns?: readonly string[]): string {
  const [first] = rows;
  if (first === undefined) return paint.dim(`no ${name.replaceAll('_', ' ')}`);
  // the columns are those of one list; another keeps its own
  const head = columns?.every((column) => column in first) ? columns : Object.keys(first);
  return drawTable(
    head,
    rows.map((row) => head.map((column) => row[column])),
    paint,
  );
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);
const isRows = (value: unknown): value is readonly Row[] => Array.isArray(value) && value.every(isRow);
const isDeep = (value: unknown) =>
  isRow(value) && Object.values(value).some((inner) => isRow(inner) || (Array.isArray(inner) && inner.some(isRow)));
