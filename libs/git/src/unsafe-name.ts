import { type BytePath, toText } from './byte-path.js';

// what HFS+ leaves out when it compares names
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const dotGit = /^(\.git|git~1)[ .]*(:.*)?$/i;

/** Names that git lets into no tree, because some system takes them for `.git`. */
export function isUnsafeName(name: BytePath): boolean {
  return toText(name)
    .replaceAll(ignoredByHfs, '')
    .split('\\')
    .some((part) => dotGit.test(part));
}
