/** Bytes that wait, in order; taken in pieces of a size that has nothing to do with how they came. */
export class ByteQueue {
  private chunks: Buffer[] = [];
  private size = 0;

  get length(): number {
    return this.size;
  }

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.chunks.push(chunk);
    this.size += chunk.length;
  }

  /** The first bytes, at most so many. */
  take(most: number): Buffer {
    const taken: Buffer[] = [];
    let room = most;
    for (let first = this.chunks[0]; first !== undefined && room > 0; first = this.chunks[0]) {
      const part = first.subarray(0, room);
      taken.push(part);
      room -= part.length;
      if (part.length === first.length) this.chunks.shift();
      else this.chunks[0] = first.subarray(part.length);
    }
    this.size -= most - room;
    return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken);
  }

  clear(): void {
    this.chunks = [];
    this.size = 0;
  }
}
