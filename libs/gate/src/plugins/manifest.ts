import { z } from 'zod';

/** Names of plugins and of their operations below them (A2.1). */
const pluginName = /^[a-z][a-z0-9_]{0,31}$/;

export const PluginName = z.string().regex(pluginName);

const Schema = z.record(z.string(), z.unknown());

const ManifestOperation = z.strictObject({
  name: z
    .string()
    .max(64)
    .regex(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/),
  summary: z.string().min(1).max(256),
  class: z.enum(['read', 'mutate']),
  ceiling: z.enum(['never', 'off', 'on']).default('off'),
  input: Schema,
  output: Schema,
  preview: z.boolean().default(false),
});
export type ManifestOperation = z.output<typeof ManifestOperation>;

/** What a plugin says of itself when it starts. */
export const PluginManifest = z.strictObject({
  protocol: z.literal(1),
  version: z.string().min(1).max(64),
  operations: z.array(ManifestOperation).min(1).max(64),
});
export type PluginManifest = z.output<typeof PluginManifest>;
