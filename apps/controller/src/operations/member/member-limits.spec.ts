import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  checkpoint,
  delegate,
  jobClaim,
  type LeasedJob,
  limits,
  Problem,
  setWorkPlan,
  taskStart,
  workflowImport,
} from '#contracts';
import {
  type Answer,
  aController,
  type TestController,
  type TestWorker,
} from '../../../../../test/support/a-controller.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
  const children = Array.from({ length: limits.waveMembers + 1 }, (_, n) => `{id: m${n}}`);
  const lead = `lead: {id: lead, children: [${children.join(', ')}]}`;
  await farm.admin.call(workflowImport, { document: `kind: workflow\nid: wide\ndescription: Many\n${lead}\n` });
});
afterAll(() => farm.close());

interface Held {
  readonly worker: TestWorker;
  readonly lease: LeasedJob;
}

/** A machine that holds the lead of a Task of its own. */
async function held(): Promise<Held> {
  const pool = `pool-${randomUUID().slice(0, 8)}`;
  const worker = await farm.aWorker({ pool });
  await farm.admin.call(taskStart, { workflow_id: 'wide', prompt: 'Do it.', pool });
  const { jobs } = await worker.call(jobClaim, { request_id: randomUUID(), wait_seconds: 20 });
  const [lease] = jobs;
  if (!lease) throw new Error('there was nothing to claim');
  return { worker, lease };
}
const ask = ({ worker, lease }: Held, name: string, input: unknown): Promise<Answer> =>
  worker.ask(name, input, { jobToken: lease.token, key: randomUUID() });

/** Ends in a character of two bytes: characters and bytes are not the same. */
const bytes = (length: number) => `${'x'.repeat(length - 2)}é`;
const characters = (length: number) => 'é'.repeat(length);
const filesOf = (count: number) => Array.from({ length: count }, (_, n) => ({ path: `notes/${n}.md` }));
const stepsOf = (count: number, step = 'Look') =>
  Array.from({ length: count }, (_, n) => ({ step: `${step} ${n}`, status: 'pending' }));

/** An input of each length: the one at the limit is taken, the one over it is refused by the way to the field. */
interface Limit {
  readonly what: string;
  readonly operation: string;
  readonly most: number;
  readonly input: (length: number) => unknown;
  readonly path: string;
  readonly broken: string;
}

const summary = 'Half way';
const child = (more: object) => ({ assignments: [{ child_id: 'm0', prompt: 'Do it', ...more }] });

const messages: readonly Limit[] = [
  {
    what: 'bytes of the prompt of a Task',
    operation: taskStart.name,
    most: limits.promptBytes,
    input: (n) => ({ workflow_id: 'wide', prompt: bytes(n), pool: 'nobody' }),
    path: '/prompt',
    broken: `max_bytes:${limits.promptBytes}`,
  },
  {
    what: 'bytes of the prompt of an Assignment',
    operation: delegate.name,
    most: limits.promptBytes,
    input: (n) => child({ prompt: bytes(n) }),
    path: '/assignments/0/prompt',
    broken: `max_bytes:${limits.promptBytes}`,
  },
  {
    what: 'files of an Assignment',
    operation: delegate.name,
    most: limits.files,
    input: (n) => child({ files: filesOf(n) }),
    path: '/assignments/0/files',
    broken: `max:${limits.files}`,
  },
  {
    what: 'files of a checkpoint',
    operation: checkpoint.name,
    most: limits.files,
    input: (n) => ({ summary, files: filesOf(n) }),
    path: '/files',
    broken: `max:${limits.files}`,
  },
  {
    what: 'bytes of a path',
    operation: checkpoint.name,
    most: limits.pathBytes,
    input: (n) => ({ summary, files: [{ path: bytes(n) }] }),
    path: '/files/0/path',
    broken: 'relative_path',
  },
  {
    what: 'characters of what a file is for',
    operation: checkpoint.name,
    most: limits.fileDescription,
    input: (n) => ({ summary, files: [{ path: 'a.md', description: characters(n) }] }),
    path: '/files/0/description',
    broken: `max:${limits.fileDescription}`,
  },
  {
    what: 'characters of a summary',
    operation: checkpoint.name,
    most: limits.checkpointSummary,
    input: (n) => ({ summary: characters(n) }),
    path: '/summary',
    broken: `max:${limits.checkpointSummary}`,
  },
  {
    what: 'bytes of details',
    operation: checkpoint.name,
    most: limits.checkpointDetailsBytes,
    input: (n) => ({ summary, details: bytes(n) }),
    path: '/details',
    broken: `max_bytes:${limits.checkpointDetailsBytes}`,
  },
];

const plan: readonly Limit[] = [
  {
    what: 'steps',
    operation: setWorkPlan.name,
    most: limits.planSteps,
    input: (n) => ({ steps: stepsOf(n) }),
    path: '/steps',
    broken: `max:${limits.planSteps}`,
  },
  {
    what: 'characters of a step',
    operation: setWorkPlan.name,
    most: limits.planStep,
    input: (n) => ({ steps: [{ step: characters(n), status: 'pending' }] }),
    path: '/steps/0/step',
    broken: `max:${limits.planStep}`,
  },
  {
    what: 'characters of an explanation',
    operation: setWorkPlan.name,
    most: limits.planExplanation,
    input: (n) => ({ explanation: characters(n), steps: stepsOf(1) }),
    path: '/explanation',
    broken: `max:${limits.planExplanation}`,
  },
];

const delegation: readonly Limit[] = [
  {
    what: 'Assignments of a Wave',
    operation: delegate.name,
    most: limits.waveMembers,
    input: (n) => ({ assignments: Array.from({ length: n }, (_, m) => ({ child_id: `m${m}`, prompt: 'Do it' })) }),
    path: '/assignments',
    broken: `max:${limits.waveMembers}`,
  },
];

const by = (holder: Held, { operation }: Limit, input: unknown): Promise<Answer> =>
  operation === taskStart.name
    ? farm.admin.ask(operation, input, { key: randomUUID() })
    : ask(holder, operation, input);

/** Over the limit first: what is refused hands nothing over. */
async function holds(row: Limit): Promise<void> {
  const holder = await held();
  const over = await by(holder, row, row.input(row.most + 1));
  expect(over.status).toBe(422);
  const { code, fields } = Problem.parse(over.body);
  expect({ code, fields }).toEqual({ code: 'invalid_input', fields: [{ path: row.path, rule: row.broken }] });
  expect((await by(holder, row, row.input(row.most))).status).toBe(200);
}

describe('at the limit an input is taken, and one over it is refused by field and rule:', () => {
  it.each(messages)('N2 $most $what', holds);
  it.each(plan)('N3 $most $what', holds);
  it.each(delegation)('N4 $most $what', holds);

  it('N2 N3 N4 the numbers are those that members are told', () => {
    expect(limits).toMatchObject({
      promptBytes: 65_536,
      files: 32,
      pathBytes: 4096,
      fileDescription: 1024,
      checkpointSummary: 2048,
      checkpointDetailsBytes: 65_536,
      planSteps: 9,
      planStep: 512,
      planExplanation: 1024,
      waveMembers: 8,
      childAssignmentsPerAssignment: 20,
      retriesPerAssignment: 1,
    });
  });
});

interface Refused {
  readonly what: string;
  readonly operation: string;
  readonly input: unknown;
  readonly path: string;
  readonly rule: string;
}
const step = (text: string, status = 'pending') => ({ step: text, status });
const files = (...paths: readonly string[]) => ({ summary, files: paths.map((path) => ({ path })) });

const badMessages: readonly Refused[] = [
  { what: 'blank', operation: checkpoint.name, input: { summary: ' \n' }, path: '/summary', rule: 'blank' },
  {
    what: 'not storable',
    operation: checkpoint.name,
    input: { summary: 'a\u0000' },
    path: '/summary',
    rule: 'storable',
  },
  { what: 'no XML', operation: checkpoint.name, input: { summary: 'a\u0001' }, path: '/summary', rule: 'storable' },
  {
    what: 'half a character',
    operation: checkpoint.name,
    input: { summary: 'a\ud800' },
    path: '/summary',
    rule: 'storable',
  },
  {
    what: 'an unknown outcome',
    operation: checkpoint.name,
    input: { summary, outcome: 'done' },
    path: '/outcome',
    rule: 'one_of:green|blocked|retry',
  },
  {
    what: 'the same file twice',
    operation: checkpoint.name,
    input: files('a.md', 'a.md'),
    path: '/files',
    rule: 'unique_paths',
  },
  ...['/etc/passwd', '../a', 'a/./b', 'a//b', 'a\\b', 'c:/a', 'file:a', '*.md', ''].map((path) => ({
    what: `the path ${JSON.stringify(path)}`,
    operation: checkpoint.name,
    input: files(path),
    path: '/files/0/path',
    rule: 'relative_path',
  })),
  {
    what: 'an unknown field',
    operation: checkpoint.name,
    input: { summary, secret: 1 },
    path: '',
    rule: 'unknown_field',
  },
];
const badPlans: readonly Refused[] = [
  {
    what: 'two steps at once',
    operation: setWorkPlan.name,
    input: { steps: [step('a', 'in_progress'), step('b', 'in_progress')] },
    path: '/steps',
    rule: 'one_in_progress',
  },
  {
    what: 'a step twice, by its letters',
    operation: setWorkPlan.name,
    input: { steps: [step('Look'), step('LOOK')] },
    path: '/steps',
    rule: 'distinct_steps',
  },
  ...['TODO', ' tbd ', '...', '-'].map((text) => ({
    what: `filler like ${JSON.stringify(text)}`,
    operation: setWorkPlan.name,
    input: { steps: [step(text)] },
    path: '/steps',
    rule: 'no_filler',
  })),
  {
    what: 'a blank step',
    operation: setWorkPlan.name,
    input: { steps: [step('')] },
    path: '/steps/0/step',
    rule: 'blank',
  },
];
const badWaves: readonly Refused[] = [
  { what: 'nobody', operation: delegate.name, input: { assignments: [] }, path: '/assignments', rule: 'min:1' },
  {
    what: 'a child twice',
    operation: delegate.name,
    input: { assignments: [...child({}).assignments, ...child({}).assignments] },
    path: '/assignments',
    rule: 'unique_children',
  },
  {
    what: 'a blank prompt',
    operation: delegate.name,
    input: child({ prompt: '\t' }),
    path: '/assignments/0/prompt',
    rule: 'blank',
  },
  {
    what: 'a name that nobody has',
    operation: delegate.name,
    input: child({ child_id: 'No Name' }),
    path: '/assignments/0/child_id',
    rule: 'format:regex',
  },
];

describe('what does not have the shape of its operation is refused by field and rule, and nothing is done:', () => {
  let holder: Held;
  beforeAll(async () => {
    holder = await held();
  });
  const isRefused = async ({ operation, input, path, rule }: Refused) => {
    const { code, fields } = Problem.parse((await ask(holder, operation, input)).body);
    expect(code).toBe('invalid_input');
    expect(fields).toContainEqual(expect.objectContaining({ path, rule }));
  };
  it.each(badMessages)('N2 $what', isRefused);
  it.each(badPlans)('N3 $what', isRefused);
  it.each(badWaves)('N4 $what', isRefused);
});
