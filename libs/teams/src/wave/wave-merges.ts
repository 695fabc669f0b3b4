import {
  draftPin,
  type MergedLine,
  type Merging,
  type ObjectStore,
  openMerging,
  type Pin,
  type PinDraft,
  type PinPlace,
  pin,
  preparePin,
} from '#git';
import { isInPlace } from '../in-place/in-place.js';
import type { TeamParts } from '../parts.js';
import { assignmentSql, taskSql } from '../sql/teams.js';
import { type SettledChild, waveSql } from '../sql/wave.js';
import { storeOf } from '../task/task-store.js';

/** Waves that are merged ahead at once: each holds a small shell. */
const mostAhead = 16;

/** What is to be merged: the line of the parent, and its green children in the order of the request. */
interface Wanted {
  readonly wave: string;
  readonly task: string;
  readonly ours: string;
  readonly green: readonly SettledChild[];
}

interface Begun {
  readonly store: ObjectStore;
  readonly ours: string;
  readonly merging: Merging;
  /** Heads that it has taken. */
  readonly theirs: readonly string[];
}

/**
 * Merges of Waves, begun while some of the children are still at work: at the end the last ones are left. Nothing of it is in the
 * store before the join, and the same rows give the same commits again, here or at another controller (H6).
 */
export class WaveMerges {
  private readonly begun = new Map<string, Begun>();
  private readonly ahead = new Map<string, Promise<void>>();
  /** They are done and not closed. */
  private readonly over: Merging[] = [];

  constructor(private readonly parts: TeamParts) {}

  /** All of them, pinned. Goes on where looks ahead have come to, also one that is under way. */
  async merge(wanted: Wanted): Promise<MergedLine> {
    const { wave, ours, green } = wanted;
    await this.ahead.get(wave);
    const begun = this.begun.get(wave);
    this.begun.delete(wave);
    if (green.length === 0) return { head: ours, merges: [] };
    // What went wrong with it is met again by who begins anew, and told.
    const merged = begun && (await this.finish(begun, wanted).catch(() => undefined));
    return merged ?? (await this.finish(await this.begin(wanted), wanted));
  }

  /** Nothing is left of merges that are over: once their join is written, which it would hold up. What stays is swept (H31). */
  async clear(): Promise<void> {
    await Promise.all(this.over.splice(0).map((merging) => merging.close().catch(() => undefined)));
  }

  /** Some have reported and others have not: what comes before all of those is merged. Nothing depends on it. */
  lookAhead(wave: string): Promise<void> {
    const running = this.ahead.get(wave);
    if (running) return running;
    const looking = this.mergeAhead(wave)
      .catch(() => this.drop(wave))
      .finally(() => this.ahead.delete(wave));
    this.ahead.set(wave, looking);
    return looking;
  }

  /** Waits for what is under way, and ends what waits. */
  async close(): Promise<void> {
    await Promise.all(this.ahead.values());
    await Promise.all([...this.begun.keys()].map((wave) => this.drop(wave)));
    await this.clear();
  }

  private async mergeAhead(wave: string): Promise<void> {
    for (;;) {
      const wanted = await this.readAhead(wave);
      if (wanted === undefined) return;
      const begun = this.begun.get(wave) ?? (await this.begin(wanted));
      const rest = restOf(begun, wanted);
      this.begun.set(wave, { ...begun, theirs: wanted.green.map(({ line_head }) => line_head) });
      await warm(begun, wave);
      // Others may have reported while these were merged.
      if (rest.length === 0) return this.makeRoom();
      await begun.merging.take(rest.map(branchOf));
    }
  }

  /** Of Waves that were cancelled, or wait for their last child for long. */
  private async makeRoom(): Promise<void> {
    const idle = [...this.begun.keys()].filter((wave) => !this.ahead.has(wave));
    await Promise.all(idle.slice(0, Math.max(0, this.begun.size - mostAhead)).map((wave) => this.drop(wave)));
  }

  private async drop(wave: string): Promise<void> {
    const begun = this.begun.get(wave);
    this.begun.delete(wave);
    await begun?.merging.close().catch(() => undefined);
  }

  private async begin({ task, ours }: Wanted): Promise<Begun> {
    const limits = this.parts.gitLimits ?? {};
    const store = await storeOf(this.parts, task);
    return { store, ours, merging: await openMerging(store, { ours, limits }), theirs: [] };
  }

  private async finish(begun: Begun, wanted: Wanted): Promise<MergedLine> {
    const { merging, store } = begun;
    const place = pinPlaceOf(wanted.wave);
    try {
      await merging.take(restOf(begun, wanted).map(branchOf));
      const expected = merging.head;
      if (expected === wanted.ours) return await merging.finish();
      // Beside what `finish` waits for; who pins anew is told what went wrong with it.
      const drafting = draftPin(store, { ...place, commit: expected }).catch(() => undefined);
      const line = await merging.finish().catch(async (fault) => {
        await (await drafting)?.drop();
        throw fault;
      });
      // On disk and held before a row names it, and with it the merges that it was made of (D20).
      await setPin(store, { ...place, commit: line.head }, await drafting, wanted.ours);
      return line;
    } finally {
      // Not over before: another join clears up meanwhile.
      this.over.push(merging);
    }
  }

  /** Nothing where it waits for nobody, or where there is nothing to merge so far. */
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
    const hasWork = greenOf(children).some(({ line_head, line_base }) => line_head !== line_base);
    const green = greenOf(children.filter(({ position }) => position < end));
    return hasWork ? { wave: id, task: wave.task, ours: assignment.line_head, green } : undefined;
  }
}

/** What it has not taken. What it has was read from the same rows, which nobody changes any more. */
function restOf({ ours, theirs }: Begun, wanted: Wanted): readonly SettledChild[] {
  const isOfThese = ours === wanted.ours && theirs.every((head, n) => head === wanted.green[n]?.line_head);
  if (!isOfThese) throw new Error('a Wave was merged ahead from other rows');
  return wanted.green.slice(theirs.length);
}

/** All that the join would wait for and that does not depend on who is still at work. */
async function warm({ store, merging }: Begun, wave: string): Promise<void> {
  await Promise.all([merging.warm(), preparePin(store, pinPlaceOf(wave))]);
}

/** The draft, if it is of where the line came to stand; else it is dropped, and a line that has moved is pinned anew. */
async function setPin(store: ObjectStore, what: Pin, draft: PinDraft | undefined, ours: string): Promise<void> {
  if (draft?.commit === what.commit) return void (await draft.set());
  await draft?.drop();
  if (what.commit !== ours) await pin(store, what);
}

function pinPlaceOf(wave: string): PinPlace {
  return { kind: 'accepted', job: wave, epoch: 0 };
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
