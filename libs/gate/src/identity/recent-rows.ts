/**
 * Rows that are read at nearly every call, at most a moment old: concurrent calls share one read. What another controller
 * changed is seen after that moment; what this one changed, at once.
 */
export class RecentRows<Row> {
  private readonly rows = new Map<string, { readonly row: Promise<Row>; readonly until: number }>();

  constructor(
    private readonly read: (id: string) => Promise<Row>,
    private readonly momentMs: number,
  ) {}

  get(id: string): Promise<Row> {
    const now = performance.now();
    const known = this.rows.get(id);
    if (known && known.until > now) return known.row;
    if (this.rows.size > 10_000) this.rows.clear();
    const row = this.read(id);
    this.rows.set(id, { row, until: now + this.momentMs });
    // A failed read is nobody's row.
    row.catch(() => this.rows.delete(id));
    return row;
  }

  forget(id: string): void {
    this.rows.delete(id);
  }
}
