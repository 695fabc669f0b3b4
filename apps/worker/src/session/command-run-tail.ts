import { stripVTControlCharacters } from 'node:util';
import { limits } from '#contracts';
import { withoutSecrets } from '../provider/without-secrets.js';

/** The end of what a command said, as text that can be stored and shown; all of it has gone up by another road. */
export class CommandTail {
  private kept: Buffer = Buffer.alloc(0);
  observedBytes = 0;

  add(chunk: Buffer): void {
    this.observedBytes += chunk.length;
    this.kept = Buffer.concat([this.kept, chunk]).subarray(-limits.commandTailBytes);
  }

  /**
   * Without terminal sequences and NULs; what is no UTF-8, or cut in two at the beginning, is U+FFFD. A secret that shows only when
   * the colours in it are gone is taken out here.
   */
  text(secrets: Readonly<Record<string, string>> = {}): string {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that a terminal or PostgreSQL obeys
    const plain = stripVTControlCharacters(this.kept.toString()).replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '');
    const bytes = Buffer.from(withoutSecrets(plain, Object.values(secrets)));
    // U+FFFD is longer than what it stands for
    return bytes.subarray(-limits.commandTailBytes).toString().replace(/^�+/, '');
  }
}
