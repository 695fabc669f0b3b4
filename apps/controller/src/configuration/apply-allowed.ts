import { applyAllowed, type Registry } from '#gate';
import type { Services } from '../farm.js';

/**
 * Makes the rows of `[mcp.allowed]` and `lift_never` what the file says (A3c.2). What it skips is told in the log and by
 * `config_show`, and stops no start (A3c.3).
 */
export async function applyAllowedTable(
  { settings, database, log, warnings }: Services,
  registry: Registry<Services>,
): Promise<void> {
  const { mcp, operations, configuration } = settings;
  const skipped = await applyAllowed(database, {
    allowed: mcp.allowed,
    liftNever: operations.liftNever,
    registry,
    plugins: settings.plugins.map(({ name }) => name),
    configHash: configuration.hash,
    generation: configuration.generation,
  });
  warnings.push(...skipped);
  for (const warning of warnings) log.warn({ configuration: configuration.path }, warning);
}
