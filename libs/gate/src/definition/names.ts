/**
 * The only operations that may have class `protocol`: no confirmation, always audited, bounded by token and lease. The job
 * catalogue and the member catalogue, by name (A2.10).
 */
export const protocolNames: ReadonlySet<string> = new Set([
  'job_claim',
  'job_heartbeat',
  'job_complete',
  'job_fail',
  'get_current_context',
  'set_work_plan',
  'checkpoint',
  'delegate',
  'add_child',
  'update_child',
  'remove_child',
  'open_human_request',
  'start_command_run',
]);

/** Fields of the envelope: no input may have one, so that none can be smuggled in (A2.7). */
export const reservedFields: ReadonlySet<string> = new Set([
  'confirm',
  'confirmation_token',
  'idempotency_key',
  'door',
  'agent_id',
  'actor',
]);

/** At most 64 characters, words of lower case joined by single underscores (A2.1). */
export const operationName = /^(?=.{1,64}$)[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

const pluginName = /^[a-z][a-z0-9_]*$/;

/** `<plugin>.<name>`, 64 characters at most together (A2.1). */
export function isPluginOperation(name: string, plugin: string): boolean {
  if (!pluginName.test(plugin) || !name.startsWith(`${plugin}.`) || name.length > 64) return false;
  return operationName.test(name.slice(plugin.length + 1));
}

/** Group first, then the rest with hyphens; an operation that is its own group is a bare command (A9.1, A9.2). */
export function cliPathOf(name: string, group: string): readonly string[] {
  const rest = name === group ? '' : name.slice(group.length + 1);
  return [group, rest].filter((part) => part !== '').map((part) => part.replaceAll('_', '-'));
}
