import { newId } from '#contracts';
import type { Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import { attentionSql } from '../sql/teams.js';
import { announce } from '../webhook/announce.js';

interface Attention {
  readonly task: string;
  /** What stands still; null: the Task as a whole. */
  readonly job: string | null;
  readonly kind:
    | 'budget_exhausted'
    | 'lane_exhausted'
    | 'no_machine'
    | 'policy_refused'
    | 'push_approval'
    | 'setup_failed'
    | 'source_unavailable'
    | 'workspace_unavailable';
  readonly summary: string;
}

/** Calls somebody, once while it is open: said again it only has its words changed. The caller holds the Task's lock. */
export async function openAttention(
  parts: Pick<TeamParts, 'queue'>,
  tx: Transaction,
  attention: Attention,
): Promise<void> {
  const { task, kind, summary } = attention;
  const opened = await tx.first(attentionSql.open, { id: newId(), ...attention });
  if (opened?.is_new) await announce(parts, tx, task, { event: 'attention_opened', kind, summary });
}
