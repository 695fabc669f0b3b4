import type { Objects } from '#store';

/** A place in what one lease has said: it moves from segment to segment. */
export interface OutputPlace {
  readonly segment: number;
  readonly offset: number;
}

/** What stands from a place on. */
export interface OutputSpan {
  readonly pieces: readonly { readonly name: string; readonly start: number; readonly end: number }[];
  readonly bytes: number;
  /** Behind it. */
  readonly next: OutputPlace;
  /** There is no more now. */
  readonly isLast: boolean;
}

/** Where a segment of a job's output lies, by the lease that wrote it. */
export function outputSegment(job: string, epoch: number, segment: number): string {
  return `output/${job}/${epoch}/${String(segment).padStart(8, '0')}`;
}

/** Segments of one span: many small ones are looked up one by one. */
const mostPieces = 1_024;

/**
 * At most so many bytes of what a lease has said. Segments stand in order, and the first that is missing ends what there is: one
 * that is on the road may come after those behind it.
 */
export async function outputSpan(
  objects: Objects,
  lease: { readonly job: string; readonly epoch: number },
  from: OutputPlace,
  most: number,
): Promise<OutputSpan> {
  const pieces: { name: string; start: number; end: number }[] = [];
  let next = from;
  for (let room = most; ; ) {
    const name = outputSegment(lease.job, lease.epoch, next.segment);
    const bytes = most - room;
    const size = await objects.size(name);
    if (size === undefined) return { pieces, bytes, next, isLast: true };
    if (room === 0 || pieces.length === mostPieces) return { pieces, bytes, next, isLast: false };
    const take = Math.max(0, Math.min(room, size - next.offset));
    if (take > 0) pieces.push({ name, start: next.offset, end: next.offset + take - 1 });
    room -= take;
    const isWhole = next.offset + take >= size;
    next = isWhole ? { segment: next.segment + 1, offset: 0 } : { ...next, offset: next.offset + take };
  }
}

/** The bytes of a span; nothing of it is held in memory but the piece that is read. */
export async function* readSpan(objects: Objects, { pieces }: OutputSpan): AsyncGenerator<Uint8Array> {
  for (const { name, start, end } of pieces)
    for await (const chunk of objects.read(name, { start, end })) if (chunk instanceof Uint8Array) yield chunk;
}
