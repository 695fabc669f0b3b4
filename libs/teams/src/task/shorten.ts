import { limits, type OverviewPart } from '#contracts';

/** The beginning of a text, with an ellipsis where it is cut; a character is never halved. */
function excerpt(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Cuts one overview to what an assistant reads in one answer, and remembers where it did (O11). */
export class Shortening {
  private readonly cut = new Set<OverviewPart>();

  /** In the order of the contract. */
  get truncated(): OverviewPart[] {
    return [...this.cut].sort();
  }

  text(part: OverviewPart, text: string, most: number = limits.overviewExcerpt): string {
    return this.noted(part, excerpt(text, most), text);
  }

  optional(part: OverviewPart, text: string | null): string | null {
    return text === null ? null : this.text(part, text);
  }

  name(part: OverviewPart, name: string): string {
    return this.text(part, name, limits.overviewName);
  }

  /** The end of a text, which says more than its beginning. */
  tail(part: OverviewPart, text: string): string {
    const end = text.length <= limits.overviewExcerpt ? text : text.slice(-limits.overviewExcerpt);
    return this.noted(part, end.replace(/^[\udc00-\udfff]/, ''), text);
  }

  /** The first ones; `total` where others were left out before. */
  list<Item>(part: OverviewPart, items: readonly Item[], total: number = items.length): Item[] {
    const shown = items.slice(0, limits.overviewList);
    if (total > shown.length) this.cut.add(part);
    return shown;
  }

  /** All of it, or nothing where that is long: half a question is worse than none. */
  whole<Item>(part: OverviewPart, items: readonly Item[]): Item[] {
    if (JSON.stringify(items).length <= limits.overviewInline) return [...items];
    this.cut.add(part);
    return [];
  }

  private noted(part: OverviewPart, shown: string, text: string): string {
    if (shown !== text) this.cut.add(part);
    return shown;
  }
}
