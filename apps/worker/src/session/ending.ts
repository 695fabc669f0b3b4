/** Why a session is ended from outside. `lost`: the lease is somebody else's. */
export type EndCause = 'cancelled' | 'paused' | 'drained' | 'lost';

/** The first cause stands, but a lost lease outranks all: nothing may be said under it any more. */
export class Ending {
  private readonly abort = new AbortController();
  private readonly first = Promise.withResolvers<EndCause>();
  private why: EndCause | undefined;

  get cause(): EndCause | undefined {
    return this.why;
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  get reached(): Promise<EndCause> {
    return this.first.promise;
  }

  end(cause: EndCause): void {
    if (this.why === undefined || cause === 'lost') this.why = cause;
    this.first.resolve(this.why);
    this.abort.abort(new Error(`The Dispatch is ended: ${this.why}.`));
  }
}
