import { FarmError, newId } from '#contracts';
import type { Queries } from '#store';
import { checkOpen } from '../checkpoint/check-checkpoint.js';
import { closeDispatch } from '../dispatch/accept-work.js';
import { grantedTo } from '../dispatch/granted.js';
import type { BodyOf } from '../handover/handover-body.js';
import { type HandoverRule, namedFiles, type Standing } from '../handover/handover-rule.js';
import { humanRequestSql } from '../sql/human-request.js';
import { attentionSql } from '../sql/teams.js';
import { record } from '../task/events.js';
import { announce } from '../webhook/announce.js';
import { bindLink } from './request-link.js';
import { compileSchema } from './response-schema.js';

/** A member asks a person and waits (§4.6 of the team rules). */
export const requestRule: HandoverRule<'human_request'> = {
  async check(queries, standing, { request }) {
    await checkOpen(queries, standing);
    await requireGrant(queries, standing, request.kind);
    for (const [n, { response_schema: schema }] of request.items.entries())
      if (schema !== undefined) compileSchema(schema, `/request/items/${n}/response_schema`);
  },

  files: ({ request }) => namedFiles(request.files, '/request'),

  async apply(parts, tx, { task, assignment, dispatch }, { id, request }, { commit }) {
    await closeDispatch(tx, dispatch, 'human_request_wait', commit);
    await tx.run(humanRequestSql.add, {
      id,
      task: task.id,
      assignment: assignment.id,
      source_dispatch: dispatch.id,
      kind: request.kind,
      summary: request.summary,
      items: JSON.stringify(request.items),
      files: JSON.stringify(request.files),
      due_at: request.timeout?.due_at ?? null,
      default_behavior: request.timeout?.default_behavior ?? null,
    });
    tx.later(attentionSql.open, {
      id: newId(),
      task: task.id,
      job: dispatch.id,
      kind: 'human_request',
      summary: request.summary,
    });
    record(parts, tx, {
      task: task.id,
      type: 'human_request_opened',
      source: 'node',
      payload: {
        request: id,
        dispatch: dispatch.id,
        member: assignment.member,
        kind: request.kind,
        summary: request.summary,
        due_at: request.timeout?.due_at ?? null,
        commit,
      },
    });
    await announce(parts, tx, task.id, {
      event: 'human_request_opened',
      id,
      member: assignment.member,
      request,
      bindLink: (delivery, webhook) =>
        bindLink(parts, tx, {
          delivery,
          request: id,
          givenTo: `webhook:${webhook}`,
          dueAt: request.timeout?.due_at ?? null,
        }),
    });
  },
};

/** I20: what the workflow gives this member, at the call and again when the work has arrived. */
async function requireGrant(
  queries: Queries,
  { dispatch }: Standing,
  kind: BodyOf<'human_request'>['request']['kind'],
): Promise<void> {
  const { human_request: granted } = await grantedTo(queries, dispatch);
  if (granted.includes(kind)) return;
  throw new FarmError('capability_rejected', 'The workflow does not let this member ask for that.', {
    fields: [{ path: '/request/kind', rule: `one_of:${granted.join(',')}` }],
    hint: 'Decide yourself, or report blocked with what would be needed.',
  });
}
