import type { GitLimits } from '#git';
import type { Queue } from '#jobs';
import type { Bell, Database, Objects, Queries } from '#store';
import type { Machine } from './account/choose-account.js';
import type { SourceRules, Vault } from './source/source-rules.js';

/** What the team runtime stands on. */
export interface TeamParts {
  readonly database: Database;
  readonly objects: Objects;
  /** One git store per Task beneath it, shared by all controllers (D23). */
  readonly tasksFolder: string;
  readonly bell: Pick<Bell, 'ring' | 'listen'>;
  /** Opened with this lib's kind, so it is there after this lib. */
  readonly queue: () => Queue;
  /** Who does the turns of a member that names no provider. Default `scripted`. */
  readonly defaultProvider?: string;
  /** Live machines and the provider accounts that they offer; none by default. */
  readonly machines?: (queries: Queries) => Promise<readonly Machine[]>;
  readonly gitLimits?: Partial<GitLimits>;
  /** How much of what jobs say is stored, of a lease and of a worker's day; default: limits.outputBytes, limits.outputBytesPerWorker. */
  readonly outputLimits?: { readonly bytes?: number; readonly bytesPerWorker?: number };
  /** What repositories Tasks may start from (H30). */
  readonly sources: SourceRules;
  /** Ids of Tasks and names of commands, by chance when absent. */
  readonly drawTaskId?: () => string;
  readonly drawCommandId?: () => string;
  /** Seals their credentials and secrets. */
  readonly vault: Vault;
  /** Where people reach the farm; links of messages lead there. */
  readonly publicUrl?: () => string | undefined;
  /** A delivery is settled: another has room now. */
  readonly onDelivered?: () => void;
  /** Called after the commit of a new or resumed Task that is still to be prepared. */
  readonly onPreparing?: (task: string) => void;
  /** Called after the commit with which a child of a Wave reported while others are at work: what is there can be merged. */
  readonly onReported?: (wave: string) => void;
  /** Called after the commit with which the last child of a Wave reported: it can be joined. */
  readonly onSettled?: (wave: string) => void;
  /** What went wrong with one Task in a sweep: the rest went on, the next sweep tries again (H13). */
  readonly onTrouble?: (error: unknown, task: string) => void;
}
