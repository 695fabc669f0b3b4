import type { Budget, TaskResult, TaskUsage, TaskView } from '#contracts';
import type { Paint } from '../../output/screen.js';
import { drawPairs, drawTable } from '../../output/table.js';
import { plainLine, plainText } from '../../output/terminal-text.js';
import { drawRequest } from './answer/draw-request.js';
import { drawTeam } from './draw-team.js';
import { isolationText } from './isolation-text.js';
import { shortCount, taskUsageText, usageText } from './usage-text.js';

/** A Task on a page: where it stands, its team, what needs you, the Result. */
export function drawTask(view: TaskView, paint: Paint): string {
  const { workflow, team, attention, rescues } = view;
  const parts = [
    `${paint.bold(view.task_id)}  ${plainLine(view.title)}`,
    drawPairs(
      [
        ['status', view.pause_reason === null ? view.product_status : `${view.product_status} (${view.pause_reason})`],
        ['workflow', `${workflow.workflow_id} revision ${workflow.revision_no}`],
        ['works in', view.workspace === null ? null : `${view.workspace.path} on ${view.workspace.host}, in place`],
        ['started', view.started_at],
        ['ended', view.ended_at],
        ['used', view.usage === null ? null : taskUsageText(view.usage)],
        ['budget', view.budget === null ? null : budgetText(view.budget)],
        ['possible now', view.actions.map((action) => action.kind)],
      ],
      paint,
    ),
    drawTeam(team, paint),
  ];
  if (attention.length > 0)
    parts.push(
      drawTable(
        ['needs you', 'why'],
        attention.map((item) => [item.kind, item.summary]),
        paint,
      ),
    );
  parts.push(...drawRequests(view, paint));
  parts.push(...drawRuns(view, paint));
  if (rescues.length > 0) {
    const rows = rescues.map((rescue) => [rescue.ref, rescue.member_id, rescue.why, rescue.kept_at]);
    parts.push(drawTable(['kept, not merged', 'member', 'why', 'when'], rows, paint));
  }
  if (view.usage !== null && view.usage.steps.length > 1) parts.push(drawSteps(view.usage, paint));
  if (view.result !== null) parts.push(drawResult(view, paint));
  parts.push(...drawLeftOut(view, paint));
  return parts.join('\n\n');
}

/** Lists that are longer than what is shown of them. */
function drawLeftOut({ task_id, totals, ...view }: TaskView, paint: Paint): readonly string[] {
  const lists = ['team', 'attention', 'human_requests', 'command_runs', 'rescues'] as const;
  const more = lists.flatMap((name) => {
    const left = totals[name] - view[name].length;
    return left > 0 ? [`${left} more of ${name.replaceAll('_', ' ')}`] : [];
  });
  if (more.length === 0) return [];
  return [paint.dim(`not shown: ${more.join(', ')} (longshore task get ${task_id} --member, --request show one)`)];
}

/** What members ask, and how it is answered. */
export function drawRequests({ task_id, human_requests }: TaskView, paint: Paint): readonly string[] {
  const open = human_requests.filter(({ status }) => status === 'open');
  if (open.length === 0) return [];
  const way = paint.dim(`to answer: longshore task answer ${task_id}${open.length > 1 ? ' <request>' : ''}`);
  return [...open.map((request) => drawRequest(request, paint)), way];
}

/** Commands that members had run; the farm's own is told with the Result. */
function drawRuns({ command_runs }: TaskView, paint: Paint): readonly string[] {
  const rows = command_runs
    .filter(({ purpose }) => purpose === 'member')
    .map((run) => [run.command_id, run.member.name, run.summary, run.status, run.status_message]);
  return rows.length === 0 ? [] : [drawTable(['command', 'of', 'what', 'state', ''], rows, paint)];
}

function drawSteps({ steps }: TaskUsage, paint: Paint): string {
  const rows = steps.map((step) => [step.member_id, step.account, step.models, usageText(step)]);
  return drawTable(['step of', 'account', 'model', 'used'], rows, paint);
}

function budgetText({ usd, tokens, requests }: Budget): string {
  return [
    ...(usd === undefined ? [] : [`$${usd.toFixed(2)} at list price`]),
    ...(tokens === undefined ? [] : [`${shortCount(tokens)} tokens`]),
    ...(requests === undefined ? [] : [`${requests} requests`]),
  ].join(', ');
}

type Finished = Pick<TaskView, 'task_id' | 'status' | 'result'>;

/** How a Task ended: summary, branch, commit, the files, and the way to them. */
export function drawResult(view: Finished, paint: Paint): string {
  const { result, task_id } = view;
  if (result === null) return `${paint.bold(task_id)} ${view.status}, without a Result`;
  const head = result.outcome === 'green' ? paint.green('green') : paint.yellow(result.outcome);
  const files = result.files_changed.map((file) => [
    file.status,
    file.path,
    sign('+', file.additions),
    sign('-', file.deletions),
  ]);
  const hidden = result.files_changed_total - result.files_changed.length;
  return [
    `${paint.bold('Result')}  ${head}  ${plainText(result.summary)}`,
    ...(result.details === null ? [] : [plainText(result.details)]),
    drawPairs(
      [
        ['branch', result.branch],
        ['commit', result.commit],
        ['workspace', result.isolation === null ? null : isolationText(result.isolation)],
        ['used', result.usage === null ? null : taskUsageText(result.usage)],
      ],
      paint,
    ),
    ...drawVerification(view, paint),
    ...(result.notes ?? []).map(plainText),
    ...drawUnmerged(result.unmerged, paint),
    ...(files.length === 0 ? ['No files were changed.'] : [drawTable(['', 'file', '', ''], files, paint)]),
    ...(hidden > 0 ? [`… and ${hidden} more`] : []),
    ...(result.branch === null ? [] : [paint.dim(`longshore task checkout ${task_id} brings the branch here`)]),
  ].join('\n\n');
}

function drawUnmerged(unmerged: TaskResult['unmerged'], paint: Paint): readonly string[] {
  if (unmerged.length === 0) return [];
  const rows = unmerged.map(({ branch, member_id, commit }) => [branch, member_id, commit]);
  return [drawTable(['never merged', 'member', 'commit'], rows, paint)];
}

const tailLines = 12;

/** Beside green: what the farm's own run of the verify command came to, and the end of what it said where it did not pass. */
function drawVerification({ task_id, result }: Finished, paint: Paint): readonly string[] {
  const run = result?.verification;
  if (result === null || run === null || run === undefined) return [];
  const passed = result.verified === true;
  const head = passed ? paint.green('verified') : paint.red('not verified');
  const facts = [run.state.replaceAll('_', ' '), run.exit_code === null ? '' : `exit code ${run.exit_code}`];
  const told = [`${head}  ${plainLine(run.command)}  ${paint.dim(facts.filter((fact) => fact !== '').join(', '))}`];
  if (run.detail !== null) told.push(plainText(run.detail));
  const tail = plainText(run.tail).trimEnd().split('\n').slice(-tailLines).join('\n');
  if (!passed && tail !== '') told.push(tail);
  if (run.command_id !== null) told.push(paint.dim(`longshore task output ${task_id} shows all that it said`));
  return [told.join('\n')];
}

const sign = (mark: string, count: number | null) => (count === null ? '' : `${mark}${count}`);
