/**
 * A path as git and the disk know it: bytes, held as a string of one character per byte, so that names that are not UTF-8 survive
 * a capture.
 */
export type BytePath = string;

export const bytesOf = (path: BytePath): Buffer => Buffer.from(path, 'latin1');
export const fromBytes = (bytes: Buffer): BytePath => bytes.toString('latin1');
export const fromText = (path: string): BytePath => Buffer.from(path, 'utf8').toString('latin1');
export const toText = (path: BytePath): string => Buffer.from(path, 'latin1').toString('utf8');

export const joined = (folder: BytePath, name: BytePath): BytePath => (folder === '' ? name : `${folder}/${name}`);

/** The folders that a path lies in, outermost first. */
export function foldersOf(path: BytePath): readonly BytePath[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** Paths as git reads and writes them with `-z`. */
export const splitPaths = (stdout: Buffer): readonly BytePath[] =>
  fromBytes(stdout)
    .split('\0')
    .filter((path) => path !== '');
export const joinPaths = (paths: readonly BytePath[]): Buffer => bytesOf(paths.map((path) => `${path}\0`).join(''));
