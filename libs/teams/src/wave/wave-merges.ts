import { type MergedLine, mergeInto } from '#git';
import { isInPlace } from '../in-place/in-place.js';
import type { TeamParts } from '../parts.js';
import { assignmentSql, taskSql } from '../sql/teams.js';
import { type SettledChild, waveSql } from '../sql/wave.js';
import { storeOf } from '../task/task-store.js';

/** Waves of which something is kept; of the others all is merged at their end. */
const mostKept = 256;

/** What is to be merged: the line of the parent, and its green children in the order of the request. */
interface Wanted {
  readonly task: string;
  readonly ours: string;
  readonly green: readonly SettledChild[];
}

interface SoFar extends MergedLine {
  readonly ours: string;
  readonly theirs: readonly string[];
}

/**
 * Merges of Waves, begun while some of the children are still at work: at the end the last ones are left. In memory alone, as the
 * same rows give the same commits again, here or at another controller (H6).
 */
export class WaveMerges {
  private readonly known = new Map<string, Promise<SoFar>>();
  private readonly ahead = new Map<string, Promise<void>>();

  constructor(private readonly parts: TeamParts) {}

  /** All of them. Goes on where looks ahead have come to, also one that is under way. */
  async merge(wave: string, wanted: Wanted): Promise<MergedLine> {
    const before = this.known.get(wave);
    const next = this.goOn(before, wanted);
    this.keep(wave, next);
    try {
      return await next;
    } catch (error) {
      this.known.delete(wave);
      throw error;
    }
  }

  /** The Wave is joined, or never will be. */
  forget(wave: string): void {
    this.known.delete(wave);
  }

  /** Some have reported and others have not: what comes before all of those is merged. What fails is met again, and told, by the join. */
  lookAhead(wave: string): Promise<void> {
    const running = this.ahead.get(wave);
    if (running) return running;
    const looking = this.mergeAhead(wave)
      .catch(() => undefined)
      .finally(() => this.ahead.delete(wave));
    this.ahead.set(wave, looking);
    return looking;
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await Promise.all(this.ahead.values());
  }

  private async mergeAhead(wave: string): Promise<void> {
    let merged = 0;
    for (;;) {
      const wanted = await this.readAhead(wave);
      // Others may have reported while these were merged.
      if (wanted === undefined || wanted.green.length <= merged) return;
      await this.merge(wave, wanted);
      merged = wanted.green.length;
    }
  }

  /** Nothing where it waits for none, or where there is nothing to merge. */
  private async readAhead(id: string): Promise<Wanted | undefined> {
    const { database } = this.parts;
    const wave = await database.first(waveSql.read, { id });
    const { first_pending: end = null } = (await database.first(waveSql.pending, { wave: id })) ?? {};
    if (wave?.status !== 'open' || end === null) return undefined;
    const [assignment, task, children] = await Promise.all([
      database.first(assignmentSql.read, { id: wave.assignment }),
      database.first(taskSql.read, { task: wave.task }),
      database.all(waveSql.children, { wave: id }),
    ]);
    if (!assignment || !task || isInPlace(task)) return undefined;
    const green = greenOf(children.filter(({ position }) => position < end));
    return { task: wave.task, ours: assignment.line_head, green };
  }

  private async goOn(before: Promise<SoFar> | undefined, { task, ours, green }: Wanted): Promise<SoFar> {
    const known = await before?.catch(() => undefined);
    const theirs = green.map(({ line_head }) => line_head);
    const isOfThese = known?.ours === ours && known.theirs.every((head, n) => head === theirs[n]);
    const from: SoFar = isOfThese ? known : { ours, theirs: [], head: ours, merges: [] };
    const rest = green.slice(from.theirs.length);
    if (rest.length === 0) return from;
    const line = await mergeInto(await storeOf(this.parts, task), {
      ours: from.head,
      branches: rest.map(branchOf),
      limits: this.parts.gitLimits ?? {},
    });
    return { ours, theirs, head: line.head, merges: [...from.merges, ...line.merges] };
  }

  private keep(wave: string, merges: Promise<SoFar>): void {
    this.known.delete(wave);
    this.known.set(wave, merges);
    const [oldest] = this.known.keys();
    if (this.known.size > mostKept && oldest !== undefined) this.known.delete(oldest);
  }
}

/** Those whose work is merged. */
export function greenOf(children: readonly SettledChild[]): readonly SettledChild[] {
  return children.filter(({ outcome }) => outcome === 'green');
}

/** Names and dates come from rows, so that anybody makes the same commit (D21). */
function branchOf({ member, summary, line_head, line_base, recorded_at }: SettledChild) {
  return {
    theirs: line_head,
    base: line_base,
    message: `Merge the work of ${member}\n\n${summary}`,
    author: { name: `Longshore (${member})`, email: 'longshore@localhost' },
    when: recorded_at,
  };
}
