/**
 * What Codex asks of a person, answered by policy: no. Sessions run with `approval_policy = never`, so nothing that they need is
 * asked for; what a version asks all the same goes beyond what the farm gave. Undefined: a question that we do not know.
 */
export function answerTo(method: string): object | undefined {
  return answers.get(method);
}

const decline = { decision: 'decline' };
const denied = { decision: { denied: { rejection: 'Nobody is here to approve: go on without it.' } } };

const answers: ReadonlyMap<string, object> = new Map<string, object>([
  ['item/commandExecution/requestApproval', decline],
  ['item/fileChange/requestApproval', decline],
  ['item/permissions/requestApproval', { permissions: {}, scope: 'turn' }],
  ['item/tool/requestUserInput', { answers: {} }],
  ['item/tool/call', { contentItems: [], success: false }],
  ['mcpServer/elicitation/request', { action: 'decline', content: null, _meta: null }],
  ['execCommandApproval', denied],
  ['applyPatchApproval', denied],
]);
