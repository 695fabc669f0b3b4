/** Places where an answer waits until a test lets it go on. A gate that was released stays open. */
export class Gates {
  private readonly arrivals = new Map<string, PromiseWithResolvers<void>>();
  private readonly releases = new Map<string, PromiseWithResolvers<void>>();

  /** Resolves when a first answer waits there. */
  reached(name: string): Promise<void> {
    return at(this.arrivals, name).promise;
  }

  release(name: string): void {
    at(this.releases, name).resolve();
  }

  /** For an answer: waits until it is let go on, or its listener is gone. */
  async wait(name: string | undefined, gone: Promise<unknown>): Promise<void> {
    if (name === undefined) return;
    at(this.arrivals, name).resolve();
    await Promise.race([at(this.releases, name).promise, gone]);
  }
}

function at(signs: Map<string, PromiseWithResolvers<void>>, name: string): PromiseWithResolvers<void> {
  const known = signs.get(name) ?? Promise.withResolvers<void>();
  signs.set(name, known);
  return known;
}
