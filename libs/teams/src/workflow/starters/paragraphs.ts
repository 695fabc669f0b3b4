/** Prose of several paragraphs. */
export const paragraphs = (...texts: readonly string[]): string => texts.join('\n\n');
