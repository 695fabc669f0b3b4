import { setTimeout as pause } from 'node:timers/promises';
import { FarmError, type TaskEvent, type TaskView, taskEvents, taskOverview } from '#contracts';
import type { FarmClient } from '../../client/farm-client.js';
import { LiveBlock } from '../../output/live-block.js';
import { CommandFailed, type CommandRun } from '../frame.js';
import { drawResult } from './draw-task.js';
import { drawTeam } from './draw-team.js';
import { eventLine } from './event-line.js';
import { NeedsTold } from './needs-told.js';
import { taskUsageText } from './usage-text.js';
import { wholeTask } from './whole-task.js';

const waitSeconds = 20;
const retryMs = 1_000;
const terminal = new Set(['completed', 'cancelled']);

export interface Follow {
  readonly client: FarmClient;
  readonly taskId: string;
  readonly signal: AbortSignal;
  readonly onEvent: (event: TaskEvent) => void;
  readonly onStatus?: (status: string) => void;
  /** After the news of one answer were told. */
  readonly onNews?: () => Promise<void>;
  /** Nothing happened for a while. */
  readonly onQuiet?: () => Promise<void>;
  /** The farm stopped answering; it is asked again each second. */
  readonly onAway?: () => void;
  /** Ends also with a Task that is paused, once all its record is told: it waits for somebody. */
  readonly endsPaused?: boolean;
}

/**
 * Reads a Task's record from its beginning, waiting for news, until the Task has ended; then answers what it has become.
 * A farm that goes away meanwhile is waited for: the Task is not over because nobody can tell.
 */
export async function followEvents(follow: Follow): Promise<TaskView> {
  const { client, taskId, signal, onEvent, onStatus } = follow;
  const isOver = (status: string) => terminal.has(status) || (follow.endsPaused === true && status === 'paused');
  let after = 0;
  let status = '';
  for (;;) {
    const wait_seconds = isOver(status) ? 0 : waitSeconds;
    const input = { task_id: taskId, after, limit: 500, wait_seconds };
    const page = await untilAnswered(() => client.call(taskEvents, input, { signal }), follow, status !== '');
    for (const event of page.events) onEvent(event);
    if (page.events.length > 0 && !isOver(page.status)) await follow.onNews?.();
    after = page.events.at(-1)?.seq ?? after;
    if (page.status !== status) onStatus?.(page.status);
    status = page.status;
    if (page.events.length === 0 && !isOver(page.status)) await follow.onQuiet?.();
    // A last look without news: what comes with the last status has been seen.
    if (isOver(status) && page.events.length === 0)
      return await client.call(taskOverview, { task_id: taskId }, { signal });
  }
}

async function untilAnswered<T>(ask: () => Promise<T>, { signal, onAway }: Follow, wasThere: boolean): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      const away = error instanceof FarmError && error.code === 'unavailable';
      if (!away || !wasThere || signal.aborted) throw error;
      if (tries === 0) onAway?.();
      await pause(retryMs, undefined, { signal });
    }
  }
}

/**
 * `task watch`: the steps as they come, on a terminal with the team as a tree below them, then the Result. Ends 0 for a green Task, 1
 * for one that is blocked, cancelled or green and not verified, 6 for one that is paused.
 */
export async function followTask(run: CommandRun, taskId: string): Promise<void> {
  const { screen, surroundings } = run;
  const client = await run.client();
  const look = () => client.call(taskOverview, { task_id: taskId }, { signal: surroundings.signal });
  const live = surroundings.stdout.isTTY === true && !screen.json ? new LiveBlock(surroundings.stdout) : undefined;
  const tell = (write: () => void): void => (live === undefined ? write() : live.above(write));
  const needs = new NeedsTold(screen, tell);
  let used = '';
  const view = await followEvents({
    client,
    taskId,
    signal: surroundings.signal,
    onEvent: (event) =>
      tell(() => {
        screen.answer(event);
        screen.show(eventLine(event, screen.paint));
      }),
    onNews: async () => {
      const now = await wholeTask(client, await look(), surroundings.signal);
      needs.askedIn(now);
      live?.draw(`\n${drawTeam(now.team, screen.paint)}`);
    },
    // A record that says nothing is no comfort: what the Task waits for is told once.
    onQuiet: async () => {
      const now = await look();
      const soFar = now.usage === null ? '' : taskUsageText(now.usage);
      if (soFar !== used) tell(() => screen.say(`so far: ${soFar}`));
      used = soFar;
      needs.attentionIn(now);
    },
    onAway: () => tell(() => screen.say('the farm does not answer; waiting for it')),
    endsPaused: true,
  }).finally(() => live?.end());
  screen.answer(view);
  screen.show(drawResult(await wholeTask(client, view, surroundings.signal), screen.paint));
  if (view.status === 'paused') {
    screen.say(`the Task is paused: longshore task get ${taskId} tells why; task resume ${taskId} --yes goes on`);
    throw new CommandFailed(6);
  }
  if (view.result?.outcome !== 'green' || view.result.verified === false) throw new CommandFailed(1);
}
