import { z } from 'zod';
import { type Activity, FileReferences } from '#contracts';

type Shown = z.output<typeof Activity>;

interface Fact {
  readonly seq: number;
  readonly type: string;
  readonly at: Date;
  readonly payload: unknown;
}

type Ending = Exclude<Shown['outcome'], null>;

/** How a Command Run may end, and what that is to people. */
const runEnds: ReadonlyMap<string, { readonly said: string; readonly outcome: Ending }> = new Map([
  ['command_run_succeeded', { said: 'passed', outcome: 'completed' }],
  ['command_run_failed', { said: 'failed', outcome: 'failed' }],
  ['command_run_timed_out', { said: 'ran out of time', outcome: 'failed' }],
  ['command_run_abandoned', { said: 'was lost with its machine', outcome: 'failed' }],
  ['command_run_cancelled', { said: 'was cancelled', outcome: 'cancelled' }],
]);

/** What members ask of people, and what comes of it. */
const requestEnds: ReadonlyMap<string, Pick<Told, 'kind' | 'title'>> = new Map([
  ['human_request_opened', { kind: 'input_requested', title: 'asks you' }],
  ['human_request_resolved', { kind: 'input_received', title: 'was answered' }],
  ['human_request_timed_out', { kind: 'input_expired', title: 'got no answer in time' }],
  ['human_request_cancelled', { kind: 'input_cancelled', title: 'gets no answer' }],
]);

/** Facts that people are told of; retries, progress, plans and machines are not among them (§2.12 of the team rules). */
export const toldTypes = [
  'task_started',
  'task_prepared',
  'task_paused',
  'task_resumed',
  'task_cancelled',
  'boundary_accepted',
  'member_steered',
  ...requestEnds.keys(),
  ...runEnds.keys(),
];

const Boundary = z.object({
  member: z.string(),
  outcome: z.enum(['green', 'blocked', 'retry']),
  summary: z.string(),
  files: FileReferences,
  root: z.boolean(),
});
const Paused = z.object({ detail: z.string() });
const Prepared = z.object({ source: z.object({ notes: z.array(z.string()) }) });

/** What happened, for people, newest first. `name` says what a member is called. */
export function activitiesOf(task: string, facts: readonly Fact[], name: (member: string) => string): readonly Shown[] {
  return facts.flatMap((fact) => {
    const told = tell(fact, name);
    return told ? [{ id: activityId(task, fact.seq), occurred_at: fact.at.toISOString(), ...quiet, ...told }] : [];
  });
}

const activityId = (task: string, seq: number): string => `activity.${task}.${seq}`;

/** Where the activity stands in the record of the Task; undefined for what is no activity of it. */
export function activitySeq(task: string, id: string): number | undefined {
  const seq = Number(id.split('.').at(-1));
  return Number.isInteger(seq) && seq <= 2 ** 31 - 1 && id === activityId(task, seq) ? seq : undefined;
}

const quiet = { summary: null, member: null, outcome: null, files: [] };

type Told = Pick<Shown, 'kind' | 'title'> & Partial<Shown>;

function tell(fact: Fact, name: (member: string) => string): Told | undefined {
  switch (fact.type) {
    case 'task_started':
      return { kind: 'task_started', title: 'Task started' };
    case 'task_prepared':
      return tellPrepared(fact.payload);
    case 'task_paused':
      return {
        kind: 'task_paused',
        title: 'Task paused',
        summary: Paused.safeParse(fact.payload).data?.detail ?? null,
      };
    case 'task_resumed':
      return { kind: 'task_resumed', title: 'Task resumed' };
    case 'task_cancelled':
      return { kind: 'task_cancelled', title: 'Task cancelled', outcome: 'cancelled' };
    case 'boundary_accepted':
      return tellBoundary(Boundary.parse(fact.payload), name);
    case 'member_steered':
      return tellSteer(Steered.parse(fact.payload), name);
    default:
      return tellRequest(fact, name) ?? tellRun(fact);
  }
}

/** Only where the source is not all that it seems: files elsewhere, submodules. */
function tellPrepared(payload: unknown): Told | undefined {
  const notes = Prepared.safeParse(payload).data?.source.notes ?? [];
  return notes.length === 0
    ? undefined
    : { kind: 'task_prepared', title: 'The repository points elsewhere', summary: notes.join(' ') };
}

const Steered = z.object({ member: z.string(), message: z.string() });

function tellSteer({ member, message }: z.output<typeof Steered>, name: (member: string) => string): Told {
  const who = { id: member, name: name(member) };
  return { kind: 'member_steered', title: `${who.name} was told`, summary: message, member: who };
}

const Asked = z.object({ member: z.string(), summary: z.string() });

function tellRequest(fact: Fact, name: (member: string) => string): Told | undefined {
  const told = requestEnds.get(fact.type);
  if (!told) return undefined;
  const { member, summary } = Asked.parse(fact.payload);
  const who = { id: member, name: name(member) };
  return { kind: told.kind, title: `${who.name} ${told.title}`, summary, member: who };
}

const Run = z.object({ purpose: z.enum(['verify', 'member']), detail: z.string().nullable() });

function tellRun(fact: Fact): Told | undefined {
  const end = runEnds.get(fact.type);
  const run = Run.safeParse(fact.payload).data;
  if (!end || !run) return undefined;
  const kind = run.purpose === 'verify' ? 'verification' : 'command';
  return {
    kind: `${kind}_ended`,
    title: `${kind === 'verification' ? 'The verification' : 'A command'} ${end.said}`,
    summary: run.detail,
    outcome: end.outcome,
  };
}

/** The root's word is the Task's end; its summary and files are the Result's. */
function tellBoundary(
  { member, outcome, summary, files, root }: z.output<typeof Boundary>,
  name: (member: string) => string,
): Told | undefined {
  if (outcome === 'retry') return undefined;
  const ended = outcome === 'green' ? ('completed' as const) : ('blocked' as const);
  const who = { id: member, name: name(member) };
  if (root)
    return {
      kind: `task_${ended}`,
      title: ended === 'completed' ? 'Task completed' : 'Task blocked',
      member: who,
      outcome: ended,
    };
  const title = ended === 'completed' ? `${who.name} is done` : `${who.name} is blocked`;
  return { kind: `work_${ended}`, title, summary, member: who, outcome: ended, files };
}
