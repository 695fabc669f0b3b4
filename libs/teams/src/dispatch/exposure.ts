import type { MemberConfiguration } from '../rows.js';

/** What a member may ever call while it does one Dispatch, in the order of its operations: a ceiling, not a permission (§3.2). */
export function ceilingOf({
  manages,
  configuration,
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
    ...(capabilitiesOf(configuration).human_request.length > 0 ? ['open_human_request'] : []),
    ...(capabilitiesOf(configuration).command_run === 'allow' ? ['start_command_run'] : []),
  ];
}

/** Effective is what is authored; nothing is inherited (I20). */
export function capabilitiesOf({ capabilities }: MemberConfiguration) {
  const command_run: 'allow' | 'deny' = capabilities?.command_run ?? 'deny';
  return { human_request: [...(capabilities?.human_request ?? [])], command_run };
}
