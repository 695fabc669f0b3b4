const mostRows = 10_000;

/**
 * Rows that are read at nearly every call, at most a moment old: concurrent calls share one read. What another controller
 * changed is seen after that moment; what this one changed, at once.
 */
export class RecentRows<Row> {
  private readonly rows = new Map<string, { readonly row: Promise<Row>; readonly until: number }>();
  private readonly seen = new Map<string, Row>();

  constructor(
    private readonly read: (id: string) => Promise<Row>,
    private readonly momentMs: number,
  ) {}

  get(id: string): Promise<Row> {
    const now = performance.now();
    const known = this.rows.get(id);
    if (known && known.until > now) return known.row;
    if (this.rows.size > mostRows) this.forgetAll();
    const row = this.read(id);
    this.rows.set(id, { row, until: now + this.momentMs });
    row.then(
      (found) => this.seen.set(id, found),
      // A failed read is nobody's row.
      () => this.rows.delete(id),
    );
    return row;
  }

  /** As it was seen last, without a read: within a transaction another connection may not be waited for. */
  last(id: string): Row | undefined {
    return this.seen.get(id);
  }

  forget(id: string): void {
    this.rows.delete(id);
  }

  private forgetAll(): void {
    this.rows.clear();
    this.seen.clear();
  }
}
