import type { WorkerEvent } from '../farm/worker-process.js';
import type { Screen } from '../output/screen.js';
import { cellText } from '../output/table.js';
import { plainLine } from '../output/terminal-text.js';

type Told = string | undefined;
type Facts = Readonly<Record<string, unknown>>;

const textLength = 110;
const text = (value: unknown, length = textLength) => {
  const line = plainLine(typeof value === 'string' ? value : cellText(value));
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
};

/** How a person is told what a worker does; an event that says nothing to a person is left out. */
const sentences: Readonly<Record<string, (facts: Facts) => Told>> = {
  claimed: ({ kind, member, epoch }) =>
    `claims ${kind === 'command_run' ? 'a command' : `the job${member === undefined ? '' : ` of ${text(member)}`}`}, epoch ${text(epoch)}`,
  workspace: ({ backend, prepare_ms, reasons }) =>
    `workspace ready: ${text(backend)}, ${text(prepare_ms)} ms${Array.isArray(reasons) && reasons.length > 0 ? ` (${text(reasons)})` : ''}`,
  started: () => "the agent's session begins",
  step: tellStep,
  reminded: ({ count }) => `the turn ended without a handover: reminder ${text(count)}`,
  handover: ({ operation }) => `hands over: ${text(operation)}`,
  frozen: ({ cause }) => `the agent is frozen: ${text(cause)}`,
  thawed: () => 'the agent goes on',
  stale: () => 'the lease is over',
  lost: () => 'the job is somebody else’s now',
  continues: ({ epoch }) => `the same session goes on, epoch ${text(epoch)}`,
  stopped: ({ empty }) =>
    empty === true ? 'the agent is stopped, none of its processes is left' : 'processes of the agent are left',
  captured: ({ kind, files, commit }) =>
    kind === 'captured'
      ? `captured ${text(files)} changed files as ${text(commit).slice(0, 12)}`
      : 'captured: no changes',
  uploaded: () => 'the work has arrived at the farm',
  completed: ({ ended, state }) => `the job is ${text(state)} (${text(ended)})`,
  rescued: () => 'the late work is kept at the farm as a rescue',
  retained: ({ why }) => `the workspace is kept aside: ${text(why)}`,
  salvaged: ({ how, epoch }) => `work of epoch ${text(epoch)} that an earlier start had left: ${text(how)}`,
  misconfigured: ({ detail }) => `worker.yaml is to be mended. ${text(detail, 1_000)}`,
  draining: () => 'draining: nothing new is taken',
  beat_unanswered: () => 'the farm does not answer',
  beat_answered: () => 'the farm answers again',
  bell: () => undefined,
};

const quietSteps = new Set(['usage', 'turn_end', 'exit', 'session']);

function tellStep({ step, text: said, name, input, ok, failure }: Facts): Told {
  if (typeof step === 'string' && quietSteps.has(step)) return undefined;
  if (step === 'message') return `“${text(said)}”`;
  if (step === 'tool_call') return `${text(name, 32)}  ${text(input)}`;
  if (step === 'tool_result') return ok === true ? undefined : `${text(name, 32)}  failed: ${text(said)}`;
  return `${text(step)} ${text(failure)}`;
}

/** One line, or nothing for an event that only machines need. */
export function workerEventLine({ event, job: _job, ...facts }: WorkerEvent): Told {
  const sentence = sentences[event];
  if (sentence !== undefined) return sentence(facts);
  const others = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined);
  return text([event.replaceAll('_', ' '), ...others.map(([name, value]) => `${name} ${cellText(value)}`)].join(' '));
}

export function tellWorkerEvent(worker: string, event: WorkerEvent, screen: Screen): void {
  const line = workerEventLine(event);
  if (line !== undefined)
    screen.say(`${screen.tint.cyan(plainLine(worker))}  ${screen.tint.dim((event.job ?? '').slice(0, 8))}  ${line}`);
}
