import { z } from 'zod';
import type { SessionEnd } from './session-end.js';

/** A checkpoint that ends its Assignment. */
const Closing = z.looseObject({ outcome: z.enum(['green', 'blocked']) });

/** Whether another Dispatch of the same Assignment may come, that a kept workspace would make warm. */
export function assignmentGoesOn(end: SessionEnd): boolean {
  switch (end.ended) {
    case 'refused':
    case 'cancelled':
    case 'lost':
      return false;
    case 'handover':
      return end.handover.operation !== 'checkpoint' || !Closing.safeParse(end.handover.input).success;
    case 'limited':
    case 'silent':
    case 'crashed':
    case 'machine':
    case 'paused':
    case 'drained':
      return true;
  }
}
