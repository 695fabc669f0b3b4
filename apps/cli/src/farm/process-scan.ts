import { readdir, readFile } from 'node:fs/promises';
import { execa } from 'execa';

/** A process of this machine, by what its arguments and environment hold. */
export interface SeenProcess {
  readonly pid: number;
  /** First letter of the state as `ps` shows it: R, S, T (stopped), Z. */
  readonly state: string;
}

/** The processes whose arguments or environment hold all of these texts; zombies and ourselves with our ancestors left out. */
export async function processesWith(texts: readonly string[]): Promise<readonly SeenProcess[]> {
  const all = process.platform === 'linux' ? await scanProc() : await scanPs();
  const parents = new Map(all.map((seen) => [seen.pid, seen.parent]));
  const own = new Set<number>();
  for (let pid: number | undefined = process.pid; pid !== undefined && !own.has(pid); pid = parents.get(pid))
    own.add(pid);
  return all
    .filter(({ pid, state, text }) => !own.has(pid) && state !== 'Z' && texts.every((wanted) => text.includes(wanted)))
    .map(({ pid, state }) => ({ pid, state }));
}

interface Scanned extends SeenProcess {
  readonly parent: number;
  readonly text: string;
}

async function scanProc(): Promise<readonly Scanned[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const scanned = await Promise.all(pids.map(scanOne));
  return scanned.filter((one) => one !== undefined);
}

async function scanOne(pid: string): Promise<Scanned | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => '');
    return {
      pid: Number(pid),
      state,
      parent: Number(parent),
      text: `${await read('cmdline')}\0${await read('environ')}`,
    };
  } catch {
    // gone between the list and the look
    return undefined;
  }
}

async function scanPs(): Promise<readonly Scanned[]> {
  const { stdout } = await execa('ps', ['-axEww', '-o', 'pid=,ppid=,state=,command='], { maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, state, text] = /^\s*(\d+)\s+(\d+)\s+(\S)\S*\s+(.*)$/.exec(line) ?? [];
    return pid === undefined
      ? []
      : [{ pid: Number(pid), parent: Number(parent), state: state ?? '', text: text ?? '' }];
  });
}
