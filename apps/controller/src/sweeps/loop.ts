export interface LoopOptions {
  readonly name: string;
  readonly everyMs: number;
  /** Looks, and does what it finds. What it throws is told and does not end the loop. */
  readonly look: () => Promise<void>;
  readonly onFault: (error: unknown, name: string) => void;
}

/** Waits for a ring or a timer, then looks: the one loop of the farm. */
export class Loop {
  private stopped = false;
  private rung = false;
  private wake: () => void = () => {};
  private readonly running: Promise<void>;

  constructor(private readonly options: LoopOptions) {
    this.running = this.run();
  }

  /** Look now, or right after the look that is going on. */
  ring(): void {
    this.rung = true;
    this.wake();
  }

  /** Resolves when the look that is going on is over. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      this.rung = false;
      try {
        await this.options.look();
      } catch (error) {
        this.options.onFault(error, this.options.name);
      }
      await this.rest();
    }
  }

  private rest(): Promise<void> {
    if (this.stopped || this.rung) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.options.everyMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
