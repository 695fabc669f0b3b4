import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { isOutsideText, outsideText } from './outside-text.js';

describe('the mark of outside text', () => {
  it('stands on a copy: the schema that others use stays as it was, and validates as before', () => {
    const shared = z.string().max(3);
    const marked = outsideText(shared);
    expect([isOutsideText(shared), isOutsideText(marked)]).toEqual([false, true]);
    expect(marked.safeParse('abcd').success).toBe(false);
    expect(outsideText(z.json()).parse({ a: [1] })).toEqual({ a: [1] });
  });

  it('goes along with refinements, and is not published', () => {
    const marked = outsideText(z.string()).min(1);
    expect(isOutsideText(marked)).toBe(true);
    expect(z.toJSONSchema(marked)).toEqual({ ...z.toJSONSchema(z.string().min(1)) });
  });
});
