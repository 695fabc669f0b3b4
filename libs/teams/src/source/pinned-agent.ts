import { readFile } from 'node:fs/promises';
import { Agent } from 'undici';

interface Pinned {
  /** Judged before: no name server is asked again (H30). */
  readonly addresses: readonly string[];
  readonly caFile?: string | undefined;
  /** Of a connection that is being made. */
  readonly timeoutMs: number;
}

/** Connects to these addresses alone, whatever a name answers by then. */
export async function pinnedAgent(
  { addresses, caFile, timeoutMs }: Pinned,
  bounds: Pick<Agent.Options, 'bodyTimeout' | 'headersTimeout' | 'maxResponseSize'>,
): Promise<Agent> {
  const families = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return new Agent({
    ...bounds,
    connect: {
      timeout: timeoutMs,
      ...(caFile !== undefined && { ca: await readFile(caFile) }),
      lookup: (_name, options, done) => {
        const [first] = families;
        if (options.all === true) done(null, families);
        else done(null, first?.address ?? '', first?.family ?? 4);
      },
    },
  });
}
