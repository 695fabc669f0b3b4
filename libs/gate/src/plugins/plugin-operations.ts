import { z } from 'zod';
import { Change, contract, FarmError, limits, outsideText, type Preview } from '#contracts';
import { DefinitionError } from '../definition/definition-error.js';
import { type Call, type Operation, operationFor } from '../operation.js';
import { type CallerIdentity, callerOf } from '../principal.js';
import type { ManifestOperation, PluginManifest } from './manifest.js';
import { pluginSchema } from './plugin-schema.js';

export interface PluginAsk {
  readonly operation: string;
  readonly input: unknown;
  readonly caller: CallerIdentity['class'];
  readonly signal: AbortSignal;
}

/** The plugin's process, as the gate knows it. Errors: FarmError plugin_failed, timeout, unavailable. */
export interface PluginPort {
  run(ask: PluginAsk): Promise<unknown>;
  preview(ask: PluginAsk): Promise<unknown>;
}

const PluginPreview = z.strictObject({
  summary: z.string().max(limits.checkpointSummary),
  changes: z.array(Change).max(1000),
});

/**
 * The operations of a plugin, under the same rules as our own (A11.1). Whatever its manifest says, none is offered over MCP before
 * somebody turns it on (A11.2). Errors: DefinitionError, naming the operation.
 */
export function pluginOperations<Services>(
  plugin: string,
  manifest: PluginManifest,
  port: PluginPort,
): readonly Operation<Services>[] {
  return manifest.operations.map((entry) => operationOf<Services>(plugin, entry, port));
}

function operationOf<Services>(plugin: string, entry: ManifestOperation, port: PluginPort): Operation<Services> {
  const name = `${plugin}.${entry.name}`;
  const asked = (input: unknown, call: Call<Services>): PluginAsk => ({
    operation: entry.name,
    input,
    caller: callerOf(call.principal, call.door).class,
    signal: call.signal,
  });
  const stated = contract({
    name,
    group: plugin,
    summary: entry.summary,
    input: schemaOf(name, 'input', entry.input),
    // A plugin's text is text from outside (A11.7).
    output: outsideText(schemaOf(name, 'output', entry.output)),
    errors: ['plugin_failed', 'timeout'],
  });
  return operationFor<Services>()(
    stated,
    { catalogue: 'operator', class: entry.class, ceiling: entry.ceiling, plugin },
    {
      actsInPrepare: true,
      ...(entry.preview && {
        preview: async (input, call) => previewOf(plugin, await port.preview(asked(input, call))),
      }),
      prepare: async (input, call) => ({ output: await port.run(asked(input, call)) }),
      run: async (_input, { output }) => output,
    },
  );
}

function schemaOf(operation: string, which: 'input' | 'output', given: ManifestOperation['input']): z.ZodType {
  try {
    return pluginSchema(given);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'it is no schema';
    throw new DefinitionError('unrepresentable_schema', operation, `its ${which} can not be used: ${why}`, cause);
  }
}

/** Whose words a proposal holds is told with them. */
function previewOf(plugin: string, given: unknown): Preview {
  const { data } = PluginPreview.safeParse(given);
  if (data === undefined)
    throw new FarmError('plugin_failed', 'The plugin told no effect that could be shown', { cause: 'preview' });
  return { summary: `The plugin ${plugin} says: ${data.summary}`, changes: data.changes };
}
