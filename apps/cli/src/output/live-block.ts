import { stripVTControlCharacters } from 'node:util';

const fallbackColumns = 80;

type Terminal = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Lines at the end of what a terminal shows, drawn anew in place while other lines go above them. */
export class LiveBlock {
  private height = 0;
  private shown = '';

  constructor(private readonly terminal: Terminal) {}

  /** Puts the block away while `write` writes lines that stay. */
  above(write: () => void): void {
    this.clear();
    write();
    this.draw(this.shown);
  }

  /** Cut to the width of the terminal: a line that wraps would be more lines than are counted. */
  draw(text: string): void {
    this.clear();
    this.shown = text;
    if (text === '') return;
    const columns = this.terminal.columns ?? fallbackColumns;
    const lines = text.split('\n').map((line) => cutLine(line, columns - 1));
    this.terminal.write(`${lines.join('\n')}\n`);
    this.height = lines.length;
  }

  /** Takes it off the screen for good. */
  end(): void {
    this.clear();
    this.shown = '';
  }

  private clear(): void {
    if (this.height > 0) this.terminal.write(`\u001b[${this.height}A\u001b[0J`);
    this.height = 0;
  }
}

/** A line too long is shown without its colours: a cut through a colour would leave it on. */
function cutLine(line: string, most: number): string {
  const plain = stripVTControlCharacters(line);
  if (plain.length <= most) return line;
  return `${plain.slice(0, Math.max(0, most - 1))}…`;
}
