import type { HumanItem } from '#contracts';
import type { LinkLook } from '#teams';
import { type Html, hidden, html, page } from '../page.js';
import { type Fields, fieldNames, optionChoice, simpleTypeOf } from './read-answer.js';

export interface AnswerShown {
  readonly look: Extract<LinkLook, { state: 'open' }>;
  /** Of the session; empty where none is needed. */
  readonly csrf: string;
  /** Who answers, where the farm knows it. */
  readonly person: string | undefined;
  /** What was filled in before. */
  readonly given: Fields;
  readonly note?: string | undefined;
}

/** What a member asks, as it asks it: its words are text and never more. */
export function answerPage({ look, csrf, person, given, note }: AnswerShown): string {
  const { task, request, expires_at } = look;
  const { summary, member, items, files, due_at, default_behavior } = request;
  const answer = request.actions.find(({ kind }) => kind === 'answer');
  return page(
    'A question for you',
    note,
    html`<p class="text">${summary}</p>
<dl><dt>Task</dt><dd>${task.title} (${task.id})</dd><dt>Asked by</dt><dd>${member.name}</dd>
${due_at === null ? undefined : html`<dt>Wanted by</dt><dd>${due_at}</dd>`}
${default_behavior === null ? undefined : html`<dt>Else</dt><dd>${default_behavior}</dd>`}
${person === undefined ? undefined : html`<dt>You answer as</dt><dd>${person}</dd>`}</dl>
${files.length === 0 ? undefined : html`<p>To look at: ${files.map(({ path }) => path).join(', ')}</p>`}
<form method="post">${hidden('csrf', csrf)}${hidden('request_id', request.request_id)}${hidden('action_id', answer?.id ?? '')}
${items.map((item) => fieldsOf(item, given))}
<button name="action" value="answer">Answer</button></form>
<p>This link answers once, until ${expires_at.toISOString()}.</p>`,
  );
}

/** Where nothing is to be answered any more. */
export function closedPage(note: string): string {
  return page('Nothing to answer here', note, html`<p>You can close this page.</p>`);
}

export function answeredPage(paused: boolean): string {
  const next = paused ? 'The Task is paused; the member goes on when it is resumed.' : 'The member goes on with it.';
  return page('Thank you', 'Your answer has arrived.', html`<p>${next} You can close this page.</p>`);
}

function fieldsOf(item: HumanItem, given: Fields): Html {
  const body = item.options === undefined ? valueField(item, given) : choiceFields(item, item.options, given);
  return html`<fieldset><legend>${item.id}</legend><p class="text">${item.prompt}</p>${body}</fieldset>`;
}

function choiceFields(
  { id, allow_other, allow_skip }: HumanItem,
  options: NonNullable<HumanItem['options']>,
  given: Fields,
): Html {
  const name = fieldNames.choice(id);
  const choices = options.map((option) => {
    const described = option.description === undefined ? undefined : html` <small>${option.description}</small>`;
    return html`<label>${radio(name, optionChoice(option.id), given)} ${option.title}${described}</label>`;
  });
  const other = allow_other
    ? html`<label>${radio(name, 'other', given)} Other<input name="${fieldNames.other(id)}" value="${given[fieldNames.other(id)] ?? ''}" autocomplete="off"></label>`
    : undefined;
  const skip = allow_skip ? html`<label>${radio(name, 'skip', given)} Skip</label>` : undefined;
  return html`${choices}${other}${skip}`;
}

function valueField({ id, response_schema: schema, allow_skip }: HumanItem, given: Fields): Html {
  const name = fieldNames.value(id);
  const skip = allow_skip
    ? html`<label><input type="checkbox" name="${fieldNames.skip(id)}" value="1"> Skip</label>`
    : undefined;
  return html`${typedField(name, schema, given)}${skip}`;
}

function typedField(name: string, schema: HumanItem['response_schema'], given: Fields): Html {
  const value = given[name] ?? '';
  switch (simpleTypeOf(schema)) {
    case 'boolean':
      return html`<label>${radio(name, 'true', given)} Yes</label><label>${radio(name, 'false', given)} No</label>`;
    case 'number':
      return html`<input name="${name}" value="${value}" inputmode="decimal" autocomplete="off">`;
    case 'string':
      return html`<textarea name="${name}" rows="3">${value}</textarea>`;
    case undefined:
      return html`<textarea name="${name}" rows="5" spellcheck="false">${value}</textarea>
<small>JSON that fits this schema:</small><p class="text"><code>${JSON.stringify(schema, null, 1)}</code></p>`;
  }
}

function radio(name: string, value: string, given: Fields): Html {
  const checked = given[name] === value ? html` checked` : undefined;
  return html`<input type="radio" name="${name}" value="${value}"${checked}>`;
}
