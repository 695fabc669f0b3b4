import { z } from 'zod';
import type { TaskEvent } from '#contracts';
import type { Paint } from '../../output/screen.js';
import { cellText } from '../../output/table.js';
import { plainLine } from '../../output/terminal-text.js';

/** Facts that a person reads; ids of the machinery stay in `--json`. */
const hidden = /(^|_)(id|ids|hash|seq|boot|path|lease)$/;
const shown = new Set(['worker_id', 'member_id']);
const longest = 200;

/** One line of a Task's record: time, what happened, its facts. */
export function eventLine(event: TaskEvent, paint: Paint): string {
  const time = /T(\d\d:\d\d:\d\d)/.exec(event.at)?.[1] ?? event.at;
  const payload = z.record(z.string(), z.unknown()).safeParse(event.payload);
  const facts = Object.entries(payload.data ?? {})
    .filter(([name, value]) => value !== null && (shown.has(name) || !hidden.test(name)) && isShort(value))
    .map(([name, value]) => `${plainLine(name.replace(/_id$/, '').replaceAll('_', ' '))} ${cellText(value)}`)
    .join(', ');
  return `${paint.dim(plainLine(time))}  ${paint.cyan(plainLine(event.type.replaceAll('_', ' ')))}  ${facts}`.trimEnd();
}

const isShort = (value: unknown) => typeof value !== 'object' || JSON.stringify(value).length <= longest;
