import { join } from 'node:path';
import { z } from 'zod';
import { readPrivateJson, replacePrivateJson } from '../keys/private-json.js';
import type { SealRow } from '../sql/audit.js';

const Head = z.strictObject({ n: z.int().min(1), mac: z.string() });

/** The newest seal that was told to the file. */
export type Head = z.output<typeof Head>;

/**
 * The newest seal, outside the database: a chain whose end was cut off is whole in itself, and only this file knows better. It is
 * written by the holder of the seals' lock and only for what is committed, so it is at most one look behind.
 */
export class HeadFile {
  private readonly path: string;

  /** @param folder that of the farm's keys, shared by all controllers */
  constructor(folder: string) {
    this.path = join(folder, 'audit-head.json');
  }

  read(): Promise<Head | undefined> {
    return readPrivateJson(this.path, Head);
  }

  async write(seal: Pick<SealRow, 'n' | 'mac'>): Promise<void> {
    await replacePrivateJson(this.path, { n: seal.n, mac: seal.mac.toString('base64url') });
  }
}

export function isHead(head: Head | undefined, seal: Pick<SealRow, 'n' | 'mac'> | undefined): boolean {
  return head !== undefined && head.n === seal?.n && head.mac === seal.mac.toString('base64url');
}

/** A head as the seal that records its loss names it. */
export function lossName({ n, mac }: Head): string {
  return `${n}:${mac}`;
}
