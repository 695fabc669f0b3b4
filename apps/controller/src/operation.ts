import { operationFor } from '#gate';
import type { Services } from './farm.js';

/** States an operation of this controller; a broken definition throws while the file is imported (A2.0). */
export const operation = operationFor<Services>();
