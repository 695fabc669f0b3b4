export type DefinitionFault =
  | 'bad_name'
  | 'group_not_prefix'
  | 'class_missing'
  | 'send_over_mcp'
  | 'mutate_without_preview'
  | 'approval_without_mutation'
  | 'plugin_on_by_default'
  | 'input_not_strict'
  | 'reserved_field'
  | 'unrepresentable_schema'
  | 'protocol_not_listed'
  | 'protocol_not_audited'
  | 'catalogue_class'
  | 'name_taken'
  | 'cli_path_taken';

/** A definition that breaks a rule of A2. Thrown while its module is imported, so that such a build never listens. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';

  constructor(
    readonly fault: DefinitionFault,
    operation: string,
    why: string,
    cause?: unknown,
  ) {
    super(`${fault}: operation ${operation}: ${why}`, cause === undefined ? undefined : { cause });
  }
}
