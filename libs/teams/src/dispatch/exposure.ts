import type { MemberConfiguration } from '../rows.js';

/** What a member may ever call while it does one Dispatch, in the order of its operations: a ceiling, not a permission (§3.2). */
export function ceilingOf({
  manages,
}: {
  readonly manages: boolean;
  readonly configuration: MemberConfiguration;
}): readonly string[] {
  return [
    'get_current_context',
    'set_work_plan',
    'checkpoint',
    ...(manages ? ['delegate'] : []),
    'add_child',
    ...(manages ? ['update_child', 'remove_child'] : []),
  ];
}

/** Effective is what is authored and what the farm can do: neither can be served yet, so neither is given (I20). */
export function capabilitiesOf(_configuration: MemberConfiguration) {
  return { human_request: [] as string[], command_run: 'deny' as const };
}
