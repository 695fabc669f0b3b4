/** How often each thing happened, by what it is a kind of: so that a reader sees that the simulation is not empty. */
export class Tally {
  private readonly counts = new Map<string, Map<string, number>>();

  count(group: string, name: string, by = 1): void {
    const names = this.counts.get(group) ?? new Map<string, number>();
    this.counts.set(group, names.set(name, (names.get(name) ?? 0) + by));
  }

  add(other: TallyCounts): void {
    for (const [group, names] of Object.entries(other))
      for (const [name, count] of Object.entries(names)) this.count(group, name, count);
  }

  counted(): TallyCounts {
    const groups = [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(
      groups.map(([group, names]) => [group, Object.fromEntries([...names].sort(([, a], [, b]) => b - a))]),
    );
  }
}

export type TallyCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;
