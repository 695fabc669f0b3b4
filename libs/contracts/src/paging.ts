import { z } from 'zod';
import { limits } from './limits.js';

export const PageLimit = z.int().min(1).max(limits.pageMax).default(50).describe('entries of a page');

export const cursorText = 'next_cursor of the page before; absent: the first page';

/** Opaque to callers: a text of the farm's own. */
export const pageCursor = (maxCharacters: number) => z.string().max(maxCharacters).optional().describe(cursorText);
