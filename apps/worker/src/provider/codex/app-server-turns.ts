/** The turn that runs, and what was said into it. */
export class AppServerTurns {
  private running:
    | { readonly id: Promise<string | undefined>; readonly named: (id: string | undefined) => void }
    | undefined;
  private named: string | undefined;
  private readonly said = new Map<string, (taken: boolean) => void>();
  private count = 0;

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** Undefined where no turn runs; waits for the name of one that has just been asked for. */
  async current(): Promise<string | undefined> {
    return this.running?.id;
  }

  begin(): void {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.running = { id: promise, named: resolve };
  }

  name(id: string): void {
    this.named = id;
    this.running?.named(id);
  }

  /** Whether this is the turn that runs. */
  isCurrent(id: string): boolean {
    return this.isRunning && this.named === id;
  }

  /** The turn is over, or never began: what was said into it and not taken is lost. */
  end(): void {
    this.running?.named(undefined);
    this.running = undefined;
    for (const heard of this.said.values()) heard(false);
    this.said.clear();
  }

  /** A name for a message, and whether the model got it: it has it when Codex puts it into the conversation. */
  expect(): { readonly name: string; readonly taken: Promise<boolean>; readonly forget: () => void } {
    this.count += 1;
    const name = `longshore-${this.count}`;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.said.set(name, resolve);
    return { name, taken: promise, forget: () => void this.said.delete(name) };
  }

  takeIn(name: string): void {
    this.said.get(name)?.(true);
    this.said.delete(name);
  }
}
