import { type RunningNats, startNats } from '../../apps/cli/src/services/nats.js';
import { endProcess, markOf } from '../../apps/cli/src/services/process-mark.js';
import { trackPid } from './processes.js';
import { tempDir } from './temp-dir.js';

export interface TestNats extends RunningNats {
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** Starts it again over the same folder: same keys and, as nobody else took it, the same port. */
  again(): Promise<TestNats>;
}

/** A nats-server of one's own, as the embedded farm runs it; ended after the spec file. */
export async function aNats(): Promise<TestNats> {
  return await over(tempDir('nats'));
}

async function over(data: string): Promise<TestNats> {
  const nats = await startNats({ data });
  trackPid(nats.pid);
  return {
    ...nats,
    async kill() {
      const mark = markOf(nats.pid);
      if (mark !== undefined) await endProcess(mark, [['SIGKILL', 10_000]]);
    },
    again: () => over(data),
  };
}
