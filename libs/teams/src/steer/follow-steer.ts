import { type InputOf, limits, type OutputOf, type taskMemberSteer } from '#contracts';
import type { TeamParts } from '../parts.js';
import { steerSql } from '../sql/steer.js';
import { waitAtBell } from '../task/wait-at-bell.js';
import { answerOf } from './steer-member.js';

/** What has become of a message that was given to a session, waiting for one beat. @throws conflict */
export async function followSteer(
  parts: Pick<TeamParts, 'database' | 'bell'>,
  { task_id, action_id }: InputOf<typeof taskMemberSteer>,
  signal: AbortSignal,
  atMostMs: number = limits.steerWaitMs,
): Promise<OutputOf<typeof taskMemberSteer> | undefined> {
  const look = () => parts.database.first(steerSql.find, { action_id });
  const isSettled = async () => {
    const steer = await look();
    return !steer || steer.over || (steer.outcome !== null && steer.outcome !== 'queued');
  };
  await waitAtBell(parts, task_id, isSettled, { atMostMs, signal });
  const steer = await look();
  return steer && answerOf(steer);
}
