import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Finding, ok } from './check.js';

const programs = ['claude', 'codex'];

/** The scripted provider is built in; whether the programs of others are on the PATH is told for those who plan with them. */
export function checkProviders(env: Readonly<Record<string, string | undefined>>): readonly Finding[] {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [
    ok('provider scripted', 'built in'),
    ...programs.map((program) => {
      const found = folders.map((folder) => join(folder, program)).find(isExecutable);
      return ok(`provider ${program}`, `${found ?? 'not on the PATH'} (this version runs the scripted provider only)`);
    }),
  ];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
