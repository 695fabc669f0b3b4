import type { Accounts } from '../accounts/accounts.js';
import type { Regain } from '../claim/regain.js';
import type { Farm } from '../controller/farm.js';
import type { EventLines } from '../event-lines.js';
import type { Log } from '../log.js';
import type { SandboxPolicy } from '../process/sandbox/index.js';
import type { Provider } from '../provider/port.js';
import type { BundleCache } from '../workspace/bundle-cache.js';
import type { OwnersFolders } from '../workspace/in-place-folder.js';
import type { LfsCache } from '../workspace/lfs-cache.js';
import type { WorkerHome } from '../workspace/worker-home.js';
import type { Workspaces } from '../workspace/workspaces.js';

/** What a Dispatch needs of its worker. */
export interface RunNeeds {
  readonly worker: string;
  readonly boot: string;
  /** Start of this process, for the owner marker. */
  readonly started: string;
  readonly home: WorkerHome;
  readonly farm: Farm;
  readonly bundles: BundleCache;
  readonly lfs: LfsCache;
  readonly workspaces: Workspaces;
  readonly folders: OwnersFolders;
  /** Bytes that the disk keeps free. */
  readonly diskFloorBytes: number;
  /** Bytes that one job may add to it. */
  readonly sessionDiskBytes: number;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly accounts: Accounts;
  readonly regain: Regain;
  readonly environment: Readonly<Record<string, string>>;
  readonly sandboxes: SandboxPolicy;
  readonly silenceMs: number;
  readonly log: Log;
  readonly line: EventLines;
  /** A phase changed or a doubt is to be ended. */
  readonly beatSoon: () => void;
}
