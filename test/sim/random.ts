import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/** Everything that a seed decides comes from here, and nothing else decides anything. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** 32 bits (splitmix32). */
  bits(): number {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  chance(probability: number): boolean {
    return this.bits() < probability * 2 ** 32;
  }

  /** From `least` to `most`, both of them possible. */
  int(least: number, most: number): number {
    return least + (this.bits() % (most - least + 1));
  }

  /** Undefined of nothing. */
  pick<T>(from: readonly T[]): T | undefined {
    return from.length === 0 ? undefined : from[this.bits() % from.length];
  }

  /** One of those that are always there. */
  oneOf<T>(first: T, ...others: readonly T[]): T {
    return this.pick([first, ...others]) ?? first;
  }

  /** By weight; something must weigh. */
  weighed<const T>(choices: readonly (readonly [weight: number, choice: T])[]): T {
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let left = (this.bits() / 2 ** 32) * total;
    for (const [weight, choice] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    throw new Error('nothing to choose from');
  }

  /** In another order. */
  shuffled<T>(all: readonly T[]): T[] {
    return all
      .map((one) => ({ one, at: this.bits() }))
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one);
  }

  /** For an act that runs beside another: what it draws does not hang on who is first. */
  fork(): Random {
    return new Random(this.bits());
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.bits() & 255));
  }

  uuid(): crypto.UUID {
    const bytes = this.bytes(16);
    bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
    bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}

/**
 * Ids that the farm makes are the seed's too, in this process: rows that are read in the order of their ids come in the same order
 * again. Never outside of the simulator.
 */
export function seedIds(seed: number): void {
  const ids = new Random(seed ^ 0x1d5eed);
  crypto.randomUUID = () => ids.uuid();
  syncBuiltinESMExports();
}
