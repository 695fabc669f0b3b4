import type { Grants, MemberConfiguration, Pins } from '../rows.js';

/** What a member may ever call while it does one Dispatch, in the order of its operations: a ceiling, not a permission (§3.2). */
export function ceilingOf({
  manages,
  grants,
}: {
  readonly manages: boolean;
  readonly grants: Grants;
}): readonly string[] {
  return [
    'get_current_context',
    'set_work_plan',
    'checkpoint',
    ...(manages ? ['delegate'] : []),
    'add_child',
    ...(manages ? ['update_child', 'remove_child'] : []),
    ...(grants.human_request.length > 0 ? ['open_human_request'] : []),
    ...(grants.command_run === 'allow' ? ['start_command_run'] : []),
  ];
}

/** What the workflow gives a member; nothing is inherited (I20). */
export function authoredGrants({ capabilities }: MemberConfiguration): Grants {
  return { human_request: capabilities?.human_request ?? [], command_run: capabilities?.command_run ?? 'deny' };
}

/** What it has in a Dispatch: frozen when that was opened, whatever the policy says since. */
export function grantsOf({ grants }: Pick<Pins, 'grants'>, configuration: MemberConfiguration): Grants {
  return grants ?? authoredGrants(configuration);
}
