import type { Random } from './random.js';

interface Ring {
  readonly subject: string;
  readonly hear: () => void;
}

/**
 * The bell of the farm, as bad as a network can be: rings are lost, doubled, late and out of order. Who heard one looks at once;
 * nobody is ever told anything else (H18, H25).
 */
export class Rings {
  private readonly underWay: Ring[] = [];
  /** Nothing is lost any more: for the end of a seed. */
  sound = false;

  constructor(private readonly random: Random) {}

  get waiting(): number {
    return this.underWay.length;
  }

  ring(subject: string, hear: () => void): void {
    const fate = this.sound
      ? 'comes'
      : this.random.weighed([
          [6, 'comes'],
          [2, 'lost'],
          [2, 'doubled'],
        ]);
    if (fate === 'lost') return;
    this.underWay.push({ subject, hear });
    if (fate === 'doubled') this.underWay.push({ subject, hear });
  }

  /** Any of those that are under way arrives; the others wait. Answers whose it was. */
  deliver(): string | undefined {
    if (this.underWay.length === 0) return undefined;
    const [ring] = this.underWay.splice(this.random.int(0, this.underWay.length - 1), 1);
    ring?.hear();
    return ring?.subject;
  }
}
