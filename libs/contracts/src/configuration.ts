import { z } from 'zod';
import { contract } from './contract.js';

/** A setting of a controller as it holds, and who said so. */
export const ShownSetting = z.strictObject({
  /** `table.key` of longshore.toml. */
  key: z.string(),
  /** The environment variable that goes before the file. */
  variable: z.string(),
  source: z.enum(['default', 'file', 'environment']),
  /** Null where nothing is set, and for secrets, which are never shown. */
  value: z.union([z.string(), z.number(), z.boolean(), z.array(z.string()), z.null()]),
  secret: z.boolean(),
});
export type ShownSetting = z.output<typeof ShownSetting>;

export const configShow = contract({
  name: 'config_show',
  summary: 'The settings of the controller that answers, and where each came from.',
  input: z.strictObject({}),
  output: z.strictObject({
    file: z.strictObject({ path: z.string(), found: z.boolean() }),
    /** Of the settings that all controllers of a farm share: equal on two that run alike. */
    hash: z.string(),
    generation: z.int(),
    settings: z.array(ShownSetting),
    /** `[mcp.allowed]`: names of operations and plugins. */
    allowed: z.record(z.string(), z.boolean()),
    /** What was skipped at the start. */
    warnings: z.array(z.string()),
  }),
});
