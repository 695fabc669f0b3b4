import { z } from 'zod';
import { contract } from './contract.js';

export const PluginView = z.strictObject({
  name: z.string(),
  /** down: its process ended and is started again; disabled: something about it is wrong. */
  state: z.enum(['starting', 'up', 'down', 'disabled']),
  version: z.string().nullable(),
  operations: z.array(z.string()),
  reason: z.string().nullable(),
  since: z.iso.datetime(),
});

export const pluginList = contract({
  name: 'plugin_list',
  summary: 'Plugins of the controller that answers, and why one is not up.',
  input: z.strictObject({}),
  output: z.strictObject({ plugins: z.array(PluginView) }),
});
