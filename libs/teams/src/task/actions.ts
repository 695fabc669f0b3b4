import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { TaskAction } from '#contracts';
import type { TaskRow } from '../rows.js';

type Action = z.output<typeof TaskAction>;

/**
 * What may be done to a Task now. The id is a hash over the facts that make it legal, so that an id from yesterday's view finds
 * other facts and does nothing (I16, §6.1 of the team rules).
 */
export function actionsOf(task: TaskRow): readonly Action[] {
  return kindsOf(task).map((kind) => ({ id: actionId(task, kind), kind, label: labels[kind] }));
}

const labels: Readonly<Record<Action['kind'], string>> = { pause: 'Pause', resume: 'Resume', cancel: 'Cancel' };

function kindsOf(task: TaskRow): readonly Action['kind'][] {
  if (task.status === 'preparing') return ['cancel'];
  if (task.status === 'running') return ['pause', 'cancel'];
  if (task.status === 'paused') return task.pause_reason === 'provider_retired' ? ['cancel'] : ['resume', 'cancel'];
  return [];
}

function actionId(task: TaskRow, kind: Action['kind']): string {
  return actionIdOf([task.id, task.status, task.team_revision, task.control_revision, kind]);
}

/** Opaque: a hash over the facts that make an action legal (I16, §6.1 of the team rules). */
export function actionIdOf(facts: readonly (string | number | null)[]): string {
  return `action.${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32)}`;
}
