import { cpus, totalmem } from 'node:os';

/** What the figures of a page were measured on. */
export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 1024 ** 3)} GiB`;
