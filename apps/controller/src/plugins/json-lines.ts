/** A stream of lines of JSON, bounded: a line that does not end is not held. */
export class JsonLines {
  private rest = '';

  constructor(
    private readonly most: number,
    private readonly take: (message: unknown) => void,
    /** What came is no such stream. */
    private readonly fault: (why: string) => void,
  ) {}

  readonly push = (chunk: string): void => {
    const lines = (this.rest + chunk).split('\n');
    this.rest = lines.pop() ?? '';
    if (this.rest.length > this.most || lines.some((line) => line.length > this.most)) {
      this.rest = '';
      this.fault('it said too much at once');
      return;
    }
    for (const line of lines) if (line !== '') this.read(line);
  };

  private read(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      // never the line: what a plugin says may hold anything
      this.fault('it said something that is no line of JSON');
      return;
    }
    this.take(message);
  }
}
