import { type IsolationReport, limits } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { attentionSql } from '../sql/teams.js';
import { openAttention } from '../task/open-attention.js';

/** For people: why members work without what the setup command makes, and the way out. */
export function setupFailedText({ reasons }: Pick<IsolationReport, 'reasons'>): string {
  const why = reasons.find((reason) => reason.startsWith('setup: '))?.slice('setup: '.length) ?? 'it did not end well';
  return `The setup command of the repository failed, and the work was done without it: ${why}. Put it right with longshore repo add --replace --setup.`.slice(
    0,
    limits.failDetailBytes,
  );
}

/** While the Task runs; its Result says it from then on. */
export async function noteSetup(
  parts: Pick<TeamParts, 'queue'>,
  tx: Transaction,
  task: string,
  isolation: IsolationReport | undefined,
): Promise<void> {
  if (isolation?.setup === 'failed')
    await openAttention(parts, tx, { task, job: null, kind: 'setup_failed', summary: setupFailedText(isolation) });
  else if (isolation?.setup === 'done') tx.later(attentionSql.closeOfTask, { task, kinds: ['setup_failed'] });
}
