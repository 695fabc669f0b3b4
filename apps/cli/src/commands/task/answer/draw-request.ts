import type { HumanItem, HumanRequestView } from '#contracts';
import type { Paint } from '../../../output/screen.js';
import { plainLine, plainText } from '../../../output/terminal-text.js';

/** What a member asks, whole: who, why, each item with what may be said, until when. */
export function drawRequest(request: HumanRequestView, paint: Paint): string {
  const { request_id, kind, member, summary, items, files, due_at, default_behavior } = request;
  const until = due_at === null ? [] : [`until ${due_at}${elseText(default_behavior)}`];
  return [
    `${paint.bold(`${plainLine(member.name)} asks`)} (${kind})  ${plainText(summary)}`,
    paint.dim([`request ${request_id}`, ...until].join(', ')),
    ...files.map(
      ({ path, description }) => `see ${plainLine(path)}${description ? `: ${plainLine(description)}` : ''}`,
    ),
    ...items.map((item) => drawItem(item, paint)),
  ].join('\n');
}

const elseText = (behaviour: string | null) => (behaviour === null ? '' : `, else: ${plainLine(behaviour)}`);

/** One question; its options are numbered from 1. */
export function drawItem(item: HumanItem, paint: Paint): string {
  const options = (item.options ?? []).map(({ id, title, description }, n) => {
    const more = description === undefined ? '' : `: ${plainLine(description)}`;
    return `  ${n + 1}  ${plainLine(title)}${more}  ${paint.dim(id)}`;
  });
  const ways = [
    ...(item.response_schema === undefined
      ? []
      : [`a value that fits ${plainLine(JSON.stringify(item.response_schema))}`]),
    ...(item.allow_other ? ['or your own words'] : []),
    ...(item.allow_skip ? ['may be skipped'] : []),
  ];
  const tail = ways.length === 0 ? [] : [paint.dim(`  ${ways.join(', ')}`)];
  return [`${paint.cyan(item.id)}  ${plainText(item.prompt)}`, ...options, ...tail].join('\n');
}
