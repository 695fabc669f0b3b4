import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { cutText, type ProviderFailure } from '../events.js';
import { awaitCondition, hang, hangDeaf } from './await-condition.js';
import { flood } from './flood.js';
import { startGrandchild } from './grandchild.js';
import { runCommand } from './run-command.js';
import type { Step } from './script.js';
import type { StepOutcome, StepScene } from './step-scene.js';

/** Does one step and reports it like an agent's own tools. Rejects only when the turn is interrupted. */
export async function performStep(step: Step, scene: StepScene): Promise<StepOutcome> {
  const { say, write, edit, run, call, wait, usage, fail } = step;
  if (say !== undefined) return report(scene.emit({ type: 'message', text: cutText(say) }));
  if (write !== undefined) return asTool('write', write.path, scene, () => writeText(write.path, write.content));
  if (edit !== undefined) return asTool('edit', edit.path, scene, () => editText(edit));
  if (run !== undefined) return runStep(run, scene);
  if (call !== undefined) return callStep(call, scene);
  if (wait !== undefined) return report(awaitCondition(wait, scene.interrupted));
  if (usage !== undefined) return report(scene.emit({ type: 'usage', ...onlySet(usage) }));
  if (fail !== undefined) return failStep(fail, scene);
  return performFault(step, scene);
}

/** What no sane agent does on purpose. */
async function performFault(step: Step, scene: StepScene): Promise<StepOutcome> {
  const { hang: hanging, flood: flooding, grandchild } = step;
  if (hanging !== undefined && hanging !== true && hanging.deaf) {
    process.on('SIGTERM', () => {});
    await scene.emit({ type: 'message', text: 'From now on I hear nothing.' });
    return hangDeaf();
  }
  if (hanging !== undefined) return report(hang(scene.interrupted));
  if (flooding !== undefined) return report(flood(flooding, scene));
  if (grandchild !== undefined) {
    return asTool('grandchild', '', scene, async () => ({ passed: true, text: await startGrandchild(grandchild) }));
  }
  if (step.crash !== undefined) process.kill(process.pid, 'SIGKILL');
  return step.exit === undefined ? 'end' : 'left';
}

async function report(done: Promise<void>): Promise<StepOutcome> {
  await done;
  return 'next';
}

interface ToolOutcome {
  readonly passed: boolean;
  readonly text: string;
}

/** A file or process tool: a failure of it ends the turn. */
async function asTool(
  name: string,
  input: string,
  scene: StepScene,
  act: () => Promise<ToolOutcome>,
): Promise<StepOutcome> {
  await scene.emit({ type: 'tool_call', name, input: cutText(input) });
  const outcome = await act().catch((error: unknown) => ({ passed: false, text: errorText(error) }));
  await scene.emit({ type: 'tool_result', name, ok: outcome.passed, text: cutText(outcome.text) });
  return outcome.passed ? 'next' : 'failed';
}

async function writeText(path: string, content: string): Promise<ToolOutcome> {
  const target = resolve(path);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
  return { passed: true, text: `${content.length} characters` };
}

async function editText({ path, find, replace }: NonNullable<Step['edit']>): Promise<ToolOutcome> {
  const [before, after, ...more] = (await readFile(resolve(path), 'utf8')).split(find);
  if (before === undefined || after === undefined)
    return { passed: false, text: 'The text to replace is not in the file.' };
  if (more.length > 0)
    return { passed: false, text: `The text to replace stands ${more.length + 1} times in the file.` };
  await writeFile(resolve(path), before + replace + after);
  return { passed: true, text: 'replaced' };
}

async function runStep(run: NonNullable<Step['run']>, scene: StepScene): Promise<StepOutcome> {
  const wish = typeof run === 'string' || Array.isArray(run) ? { command: run, must_pass: false } : run;
  const shown = typeof wish.command === 'string' ? wish.command : wish.command.join(' ');
  await scene.emit({ type: 'tool_call', name: 'run', input: cutText(shown) });
  const outcome = await runCommand(wish.command, {
    cwd: 'cwd' in wish ? wish.cwd : undefined,
    seconds: 'seconds' in wish ? wish.seconds : undefined,
    signal: scene.interrupted,
  });
  await scene.emit({ type: 'tool_result', name: 'run', ok: outcome.passed, text: cutText(outcome.text) });
  scene.interrupted.throwIfAborted();
  return outcome.passed || !wish.must_pass ? 'next' : 'failed';
}

async function callStep(call: NonNullable<Step['call']>, scene: StepScene): Promise<StepOutcome> {
  await scene.emit({ type: 'tool_call', name: call.operation, input: cutText(JSON.stringify(call.input)) });
  const answer = await scene.door.call(call.operation, call.input, scene.interrupted);
  await scene.emit({ type: 'tool_result', name: call.operation, ok: answer.ok, text: cutText(answer.text) });
  scene.interrupted.throwIfAborted();
  if (call.go_on) return 'next';
  if (!answer.ok) return 'failed';
  return answer.mustStop ? 'end' : 'next';
}

/** A limit of the account leaves the session waiting; any other failure ends it. */
async function failStep(fail: NonNullable<Step['fail']>, scene: StepScene): Promise<StepOutcome> {
  await scene.emit({ type: 'failed', failure: failureOf(fail) });
  return fail.class === 'rate_limit' || fail.class === 'overload' ? 'failed' : 'over';
}

export function failureOf(fail: NonNullable<Step['fail']>): ProviderFailure {
  const detail = cutText(fail.detail);
  if (fail.class === 'rate_limit') return { class: fail.class, retry_after_ms: fail.retry_after_ms, detail };
  return { class: fail.class, detail };
}

/** The counts, and of the rest what was given. */
function onlySet({ cache_read_tokens, model, cost_usd, ...counts }: NonNullable<Step['usage']>) {
  return {
    ...counts,
    ...(cache_read_tokens === undefined ? {} : { cache_read_tokens }),
    ...(model === undefined ? {} : { model }),
    ...(cost_usd === undefined ? {} : { cost_usd }),
  };
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : 'It failed.';
}
