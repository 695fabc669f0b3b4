import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFolder, readPrivateJson, writePrivateJson } from './private-file.js';
import { endProcess, markOf, ProcessMark } from './process-mark.js';

/** The processes that this farm has started, in `<data>/run/<name>.json`: so that the start after a crash can end them. */
export interface RunRecords {
  record(name: string, pid: number): Promise<void>;
  forget(name: string): Promise<void>;
  /**
   * Ends what is still alive of an earlier run, each by pid and start time, and answers their names. `last` is ended when all
   * others are gone: whom they say goodbye to.
   */
  endLeft(last?: string): Promise<readonly string[]>;
}

const patience = [
  ['SIGTERM', 10_000],
  ['SIGKILL', 5_000],
] as const;

export async function openRunRecords(data: string): Promise<RunRecords> {
  const folder = join(data, 'run');
  await makePrivateFolder(folder);
  const fileOf = (name: string) => join(folder, `${name}.json`);
  return {
    async record(name, pid) {
      const mark = markOf(pid);
      if (mark !== undefined) await writePrivateJson(fileOf(name), mark);
    },
    async forget(name) {
      await rm(fileOf(name), { force: true });
    },
    async endLeft(last) {
      const names = (await readdir(folder)).flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -5)] : []));
      const end = async (name: string) => {
        const mark = await readPrivateJson(fileOf(name), ProcessMark);
        if (mark !== undefined) await endProcess(mark, patience);
        await rm(fileOf(name), { force: true });
      };
      await Promise.all(names.filter((name) => name !== last).map(end));
      await Promise.all(names.filter((name) => name === last).map(end));
      return names;
    },
  };
}
