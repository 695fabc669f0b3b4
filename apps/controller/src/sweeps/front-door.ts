/** A controller whose door answered nobody for so long may not move farm time (D25). */
const aliveMs = 10_000;

/** Whether workers are being answered here. */
export class FrontDoor {
  private answeredAt = Number.NEGATIVE_INFINITY;
  private isOpen = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  opened(): void {
    this.isOpen = true;
  }

  closed(): void {
    this.isOpen = false;
  }

  readonly answered = (): void => {
    this.answeredAt = this.now();
  };

  /** Listens, and has answered some worker or agent a moment ago. */
  get alive(): boolean {
    return this.isOpen && this.now() - this.answeredAt <= aliveMs;
  }

  get open(): boolean {
    return this.isOpen;
  }
}
