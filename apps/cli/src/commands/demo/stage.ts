import type { FarmClient } from '../../client/farm-client.js';
import type { LocalFarm } from '../../farm/local-farm.js';
import type { Screen } from '../../output/screen.js';
import type { WorkerWatch } from './worker-watch.js';

/** What the acts of the demonstration play on. */
export interface Stage {
  readonly farm: LocalFarm;
  readonly client: FarmClient;
  readonly screen: Screen;
  readonly watch: WorkerWatch;
  /** The folder that goes at the end. */
  readonly data: string;
  /** The repository that the Task is about. */
  readonly library: string;
  readonly signal: AbortSignal;
  /** Seconds since the beginning, for the lines. */
  readonly tell: (who: string, line: string) => void;
}

/** A fault, played while the Task runs, and what is checked once the Task has ended. */
export interface Fault {
  readonly about: string;
  /** Shorter than the default where the demonstration would be long; said to the person. */
  readonly leaseMs?: number;
  /** At which epoch the job must end: 1 where its lease must not be lost. */
  readonly epochs: number;
  /** Variables for the workers. */
  workerEnv?(data: string, worker: string): Readonly<Record<string, string>>;
  /** In the middle of the session. */
  strike(stage: Stage, victim: Session): Promise<void>;
  /** After the Task has ended, before the farm does. Throws where the farm did not keep its word. */
  aftermath?(stage: Stage, victim: Session): Promise<FaultReport>;
}

/** One job at one epoch on one worker. */
export interface Session {
  readonly worker: string;
  readonly workerId: string;
  readonly job: string;
  readonly epoch: number;
}

export interface FaultReport {
  readonly killed_worker?: string;
  readonly refused_late_writes?: readonly RefusedWrite[];
}

export interface RefusedWrite {
  readonly op: string;
  readonly epoch: number;
  readonly code: string;
}
