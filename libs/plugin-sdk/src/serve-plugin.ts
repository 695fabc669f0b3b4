import type { Caller, Plugin, PluginCall, PluginOperation } from './plugin.js';

/** One line from the host. */
interface Asked {
  readonly id: number;
  readonly do: 'run' | 'preview' | 'cancel' | 'ping';
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly caller: Caller;
}

/**
 * Tells the host what there is and answers its calls, until the host goes. One line of JSON a message: stdout belongs to the host,
 * so what the plugin prints goes to stderr, which nobody reads.
 */
export function servePlugin(plugin: Plugin): void {
  const write = process.stdout.write.bind(process.stdout);
  const tell = (message: object): void => void write(`${JSON.stringify(message)}\n`);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const running = new Map<number, AbortController>();

  const serve = async (asked: Asked): Promise<void> => {
    const end = new AbortController();
    running.set(asked.id, end);
    try {
      const call = { caller: asked.caller, signal: end.signal, state: process.env.LONGSHORE_PLUGIN_STATE ?? '.' };
      tell({ id: asked.id, output: (await actOf(plugin, asked, call)) ?? null });
    } catch (error) {
      tell({ id: asked.id, error: error instanceof Error ? error.name : 'Error' });
    } finally {
      running.delete(asked.id);
    }
  };

  const hear = (line: string): void => {
    const asked: Asked = JSON.parse(line);
    if (asked.do === 'ping') tell({ id: asked.id, output: null });
    else if (asked.do === 'cancel') running.get(asked.id)?.abort();
    else void serve(asked);
  };
  // Not node:readline: to that a U+2028 inside a text ends a line, too.
  let rest = '';
  process.stdin
    .setEncoding('utf8')
    .on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) hear(line);
    })
    .on('end', () => process.exit(0));
  tell({ manifest: manifestOf(plugin) });
}

function actOf({ operations }: Plugin, asked: Asked, call: PluginCall): unknown {
  const operation = operations[asked.operation];
  if (asked.do === 'run') return operation?.run(asked.input, call);
  return operation?.preview?.(asked.input, call);
}

function manifestOf({ version, operations }: Plugin): object {
  const entries = Object.entries(operations).map(([name, operation]) => ({ name, ...entryOf(operation) }));
  return { protocol: 1, version, operations: entries };
}

function entryOf({ preview, run: _, ...said }: PluginOperation): object {
  return { ...said, preview: preview !== undefined };
}
