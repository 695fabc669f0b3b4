import { z } from 'zod';
import { SessionUsage, type TaskEvent } from '#contracts';
import type { Paint } from '../../output/screen.js';
import { cellText } from '../../output/table.js';
import { plainLine } from '../../output/terminal-text.js';
import { usageText } from './usage-text.js';

/** Ids of the machinery stay in `--json`; a commit is known by its first characters. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-/;
const objectId = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const longest = 200;

/** One line of a Task's record: time, what happened, its facts. */
export function eventLine(event: TaskEvent, paint: Paint): string {
  const time = /T(\d\d:\d\d:\d\d)/.exec(event.at)?.[1] ?? event.at;
  const payload = z.record(z.string(), z.unknown()).safeParse(event.payload);
  const facts = Object.entries(payload.data ?? {})
    .filter(([, value]) => isWorthALine(value))
    .map(
      ([name, value]) =>
        usageOf(name, value) ?? `${plainLine(name.replace(/_id$/, '').replaceAll('_', ' '))} ${shortText(value)}`,
    )
    .join(', ');
  return `${paint.dim(plainLine(time))}  ${paint.cyan(plainLine(event.type.replaceAll('_', ' ')))}  ${facts}`.trimEnd();
}

/** What a step used stands in words. */
function usageOf(name: string, value: unknown): string | undefined {
  const used = name === 'usage' ? SessionUsage.safeParse(value).data : undefined;
  return used === undefined ? undefined : `used ${usageText(used)}`;
}

function isWorthALine(value: unknown): boolean {
  if (value === null || (Array.isArray(value) && value.length === 0)) return false;
  if (typeof value === 'string') return !uuid.test(value);
  return typeof value !== 'object' || SessionUsage.safeParse(value).success || JSON.stringify(value).length <= longest;
}

const shortText = (value: unknown) =>
  typeof value === 'string' && objectId.test(value) ? value.slice(0, 12) : cellText(value);
