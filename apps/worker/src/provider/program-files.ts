import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';

/** The absolute path of a program as the PATH leads to it; undefined where it is not there. */
export async function findProgram(program: string, path: string): Promise<string | undefined> {
  if (isAbsolute(program)) return program;
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const file = join(folder, program);
    if (await isThere(file)) return file;
  }
  return undefined;
}

/** The folder of a program's link, and that of its package with the packages of its vendor beside it: one holds the program proper. */
export async function foldersOfProgram(file: string): Promise<readonly string[]> {
  const real = await realpath(file).catch(() => file);
  const vendor = /^.*\/node_modules\/[^/]+/.exec(real)?.[0];
  return [...new Set([dirname(file), vendor ?? dirname(real)])];
}

/**
 * Of a program that we know nothing of: what lies beside its link and beside itself, or the whole of the packages that it was
 * installed with, as one loads another. A home is no folder of a program: of what lies right there only the file is shown.
 */
export async function foldersOfInstallation(file: string): Promise<readonly string[]> {
  const real = await realpath(file).catch(() => file);
  const packages = /^.*?\/node_modules(?=\/)/.exec(real)?.[0];
  return [...new Set([placeOf(file), packages ?? placeOf(real)])];
}

function placeOf(file: string): string {
  const folder = dirname(file);
  return folder === '/' || homedir() === folder || homedir().startsWith(`${folder}/`) ? file : folder;
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
