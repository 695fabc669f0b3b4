import { FarmError, limits } from '#contracts';

/** The feeds that are open here: so many of one caller at once, and none after the controller has closed. */
export class EventStreams {
  private readonly open = new Map<string, Set<AbortController>>();
  private closed = false;

  /** A place among a caller's streams. Errors: FarmError too_many_requests, unavailable. */
  enter(principal: string): { readonly signal: AbortSignal; leave(): void } {
    if (this.closed) throw new FarmError('unavailable', 'This controller is closing');
    const mine = this.open.get(principal) ?? new Set();
    if (mine.size >= limits.streamsPerPrincipal)
      throw new FarmError('too_many_requests', `More than ${limits.streamsPerPrincipal} event streams at once`, {
        hint: 'Close one that you do not look at.',
      });
    const place = new AbortController();
    this.open.set(principal, mine.add(place));
    return {
      signal: place.signal,
      leave: () => {
        mine.delete(place);
        if (mine.size === 0) this.open.delete(principal);
      },
    };
  }

  close(): void {
    this.closed = true;
    for (const places of this.open.values()) for (const place of places) place.abort();
  }
}
