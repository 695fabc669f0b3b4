import { approvalDecide, approvalList } from '#contracts';
import { decideApproval, listApprovals, previewDecision } from '#gate';
import { operation } from '../../operation.js';
import { onlyPerson } from './person-of.js';

/** For people, whom the farm's agents ask: ceiling never, and no file lifts the decision (A3.8). */
export const approvalListOperation = operation(
  approvalList,
  { catalogue: 'admin', class: 'read', ceiling: 'never', role: 'operator' },
  {
    run: async (input, _, __, tx) => ({ approvals: await listApprovals(tx, input) }),
  },
);

/** Shows what is decided before it is decided; the operation's own role is asked for as well (A1.9). */
export const approvalDecideOperation = operation(
  approvalDecide,
  { catalogue: 'admin', class: 'mutate', ceiling: 'never', role: 'operator', consent: 'ask' },
  {
    preview: (input, _, tx) => previewDecision(tx, input),
    async run(input, _, { principal }, tx) {
      return { approval_id: input.approval_id, state: await decideApproval(tx, onlyPerson(principal), input) };
    },
  },
);
