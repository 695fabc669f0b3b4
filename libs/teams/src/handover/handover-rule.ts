import type { FileReference } from '#contracts';
import type { JobRow } from '#jobs';
import type { Queries, Transaction } from '#store';
import type { TeamParts } from '../parts.js';
import type { AssignmentRow, DispatchRow, KeptResult, TaskRow } from '../rows.js';
import type { BodyOf, HandoverKind } from './handover-body.js';

/** Everything that a handover stands on. Read under the Task's lock, or to find out early. */
export interface Standing {
  readonly task: TaskRow;
  readonly assignment: AssignmentRow;
  readonly dispatch: DispatchRow;
}

/** The work that came with it. */
export interface Arrived {
  readonly job: JobRow;
  readonly result: KeptResult;
  /** Null where nothing changed (D7). */
  readonly commit: string | null;
}

/** What one kind of handover means. */
export interface HandoverRule<Kind extends HandoverKind> {
  /** All that must hold: asked at the call, and asked again when the work has arrived (H1). @throws FarmError */
  check(queries: Queries, standing: Standing, body: BodyOf<Kind>): Promise<void>;
  /** Files that it names, each with the way to it in the call's input: regular files of the captured tree (I22). */
  files(body: BodyOf<Kind>): readonly NamedFile[];
  /** Writes it, in the transaction of `job_complete`, the line moved already. The Dispatch is still open. */
  apply(parts: TeamParts, tx: Transaction, standing: Standing, body: BodyOf<Kind>, arrived: Arrived): Promise<void>;
}

export interface NamedFile extends FileReference {
  readonly at: string;
  /** What stands there; absent: a regular file. */
  readonly is?: 'directory';
}

/** The files of one list, by their place in it. */
export function namedFiles(files: readonly FileReference[], under = ''): readonly NamedFile[] {
  return files.map((file, n) => ({ ...file, at: `${under}/files/${n}/path` }));
}
