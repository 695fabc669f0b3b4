/** The longest beginning of `text` that has at most `mostBytes` UTF-8 bytes and ends between two code points (A8.2). */
export function cutText(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  let end = Math.max(0, mostBytes);
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** A byte in the middle of a code point. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
