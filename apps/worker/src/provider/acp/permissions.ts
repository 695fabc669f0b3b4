import type {
  PermissionOption,
  RequestPermissionRequest,
  RequestPermissionResponse,
  ToolKind,
} from '@agentclientprotocol/sdk';

/** What an agent does in its workspace: there our sandbox is the guard, and nobody is here to be asked. */
const allowed: ReadonlySet<ToolKind> = new Set<ToolKind>([
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
]);

/** Tools of the member door, as agents name those of an MCP server that is called `longshore`. */
const memberTool = /\blongshore\b|__longshore__/;

/**
 * Whether the agent may, answered by policy: work in the workspace and calls of the member door, yes; all else (hosts of its
 * own choice, other modes, what says nothing of itself) no.
 */
export function answerPermission({ toolCall, options }: RequestPermissionRequest): RequestPermissionResponse {
  const { kind, name, title } = toolCall;
  const may = (kind !== null && kind !== undefined && allowed.has(kind)) || memberTool.test(name ?? title ?? '');
  const option = may ? pick(options, ['allow_once', 'allow_always']) : pick(options, ['reject_once', 'reject_always']);
  return { outcome: option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option } };
}

/** Once rather than always: a later call is looked at anew. */
function pick(options: readonly PermissionOption[], kinds: readonly PermissionOption['kind'][]): string | undefined {
  for (const kind of kinds) {
    const option = options.find((offered) => offered.kind === kind);
    if (option !== undefined) return option.optionId;
  }
  return undefined;
}
