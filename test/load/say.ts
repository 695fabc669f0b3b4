/** A word to the person who waits: stdout is for what was measured. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
