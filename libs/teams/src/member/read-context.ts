import type { getCurrentContext, OutputOf } from '#contracts';
import type { Transaction } from '#store';
import type { MemberCaller } from '../api.js';
import { asJson } from '../as-json.js';
import { drawPicture, readScene } from '../dispatch/picture.js';
import type { TeamParts } from '../parts.js';
import { authorize, refuseAfterHandover } from './authority.js';

/** Where the member is, read as one; the continuation is the one that its Dispatch was opened with. */
export async function readContext(
  parts: TeamParts,
  tx: Transaction,
  caller: MemberCaller,
): Promise<OutputOf<typeof getCurrentContext>> {
  const authority = await authorize(parts, tx, caller);
  refuseAfterHandover(authority);
  const { task, assignment, dispatch } = authority;
  const {
    note: _note,
    team: _team,
    ceiling: _ceiling,
    direct_team,
    ...context
  } = drawPicture(await readScene(tx, task, assignment, dispatch.pins), {
    task,
    assignment,
    dispatch,
    pins: dispatch.pins,
    continuation: dispatch.continuation,
  });
  return {
    ...context,
    direct_team: direct_team.map(asJson),
    observed_at: new Date().toISOString(),
  };
}
