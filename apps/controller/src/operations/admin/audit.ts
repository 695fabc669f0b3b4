import { auditList, auditVerify } from '#contracts';
import { type Access, type AuditedRow, sequenceOf } from '#gate';
import { operation } from '../../operation.js';

/** Who did what is for those who answer for it. */
const looking: Access = { catalogue: 'admin', class: 'read', ceiling: 'never' };

export const auditListOperation = operation(auditList, looking, {
  async run({ person, by_door, job_id, ...filter }, _, { services }, tx) {
    const { rows, next_cursor } = await services.audit.list(tx, {
      ...filter,
      actor: person,
      door: by_door,
      job: job_id,
    });
    return { entries: rows.map(viewOf), next_cursor };
  },
});

export const auditVerifyOperation = operation(auditVerify, looking, {
  prepare: async (_input, { services }) => ({ head: await services.audit.head() }),

  async run({ cursor }, { head }, { services }, tx) {
    const { checked, faults, waiting, next } = await services.audit.verify(tx, head, sequenceOf(cursor) ?? 0);
    return {
      intact: faults.length === 0,
      checked,
      waiting,
      faults: [...faults],
      next_cursor: next === null ? null : String(next),
    };
  },
});

function viewOf({ kind, at, input_hash, ...row }: AuditedRow) {
  return {
    ...row,
    at: at.toISOString(),
    operation: kind.replace(/^call:/, ''),
    input_hash: input_hash?.toString('base64url') ?? null,
  };
}
