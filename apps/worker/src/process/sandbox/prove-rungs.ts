import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { FarmError } from '#contracts';
import { findBubblewrap } from './bubblewrap.js';
import { openSandbox } from './open-sandbox.js';
import { type SandboxRung, sandboxRungs } from './rules.js';
import { controlGroups, countsProcesses } from './tree-limits.js';

/** What came of running one rung on this machine. */
export interface RungProof {
  readonly rung: SandboxRung;
  readonly works: boolean;
  /** How it was proved, or why it does not work here. */
  readonly found: string;
  readonly fix?: string;
}

/** Runs a program behind each rung and looks whether it holds. */
export async function proveRungs(): Promise<readonly RungProof[]> {
  return Promise.all(sandboxRungs.map(proveRung));
}

async function proveRung(rung: SandboxRung): Promise<RungProof> {
  if (rung === 'none') return { rung, works: true, found: 'no walls: only with --unsafe' };
  const folder = await mkdtemp(join(tmpdir(), 'longshore-proof-'));
  try {
    return await proveIn(rung, folder);
  } catch (error) {
    const found = error instanceof FarmError ? error.detail : 'it could not be run';
    return { rung, works: false, found, fix: 'apt-get install bubblewrap util-linux' };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Two secrets lie outside, a file and a variable of this process: inside neither may be found, nor any other process. */
async function proveIn(rung: Exclude<SandboxRung, 'none'>, folder: string): Promise<RungProof> {
  const [workspace, stateFolder, outside] = [join(folder, 'work'), join(folder, 'state'), join(folder, 'outside')];
  await execa('mkdir', ['-m', '0700', workspace, stateFolder]);
  await writeFile(outside, 'secret', { mode: 0o600 });
  const sandbox = await openSandbox({
    rung,
    workspace,
    stateFolder,
    ownFolder: join(folder, 'sandbox'),
    readable: [],
    writable: [],
    hidden: [],
    egress: { hosts: [] },
    keys: [],
  });
  try {
    const { file, args, cwd, environment } = sandbox.enclosure({
      file: 'sh',
      args: [
        '-c',
        `touch inside && { cat '${outside}' || true; } 2>/dev/null && echo "|$PPID|$(ls /sys/class/net 2>/dev/null | wc -l)"`,
      ],
      cwd: workspace,
      environment: { PATH: process.env.PATH ?? '/usr/bin:/bin', ...sandbox.environment },
    });
    const ran = await execa(file, [...args], {
      cwd,
      env: environment,
      extendEnv: false,
      reject: false,
      timeout: 20_000,
    });
    if (ran.exitCode !== 0) return { rung, works: false, ...(await whyNot(ran.stderr)) };
    if (rung === 'bwrap' && ran.stdout.startsWith('secret'))
      return {
        rung,
        works: false,
        found: 'a file outside could be read',
        fix: 'Please report this with the output of `bwrap --version`.',
      };
    return { rung, works: true, found: await toldOf(rung) };
  } finally {
    await sandbox.close();
  }
}

async function toldOf(rung: SandboxRung): Promise<string> {
  const groups = await controlGroups();
  const counted = await countsProcesses(rung === 'bwrap');
  const limit = groups === undefined ? `rlimits${counted ? '' : ', and root has no limit of processes'}` : 'a cgroup';
  if (rung === 'process') return `limits by ${limit}; no walls around files and the network`;
  const bubblewrap = await findBubblewrap(process.env.PATH ?? '');
  return `bubblewrap ${bubblewrap?.version ?? ''}; limits by ${limit}`;
}

/** Bubblewrap's own words are for developers; each cause that we know has its fix. */
async function whyNot(stderr: string): Promise<{ readonly found: string; readonly fix: string }> {
  const said = stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
  if (/uid map|setting up uid/i.test(said) || /RTM_NEWADDR/.test(said)) {
    return {
      found: `user namespaces may not be given users: AppArmor forbids it, or root lacks CAP_SETFCAP (${said})`,
      fix: 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap that allows userns; in a container --cap-add SETFCAP.',
    };
  }
  if (/mount proc|proc on/i.test(said)) {
    return {
      found: `this container hides parts of /proc, so none can be mounted inside (${said})`,
      fix: 'Start the container with --security-opt systempaths=unconfined --security-opt seccomp=unconfined.',
    };
  }
  if (/seccomp/i.test(said)) {
    return {
      found: `this kernel takes no filter of system calls (${said})`,
      fix: 'A kernel with CONFIG_SECCOMP_FILTER is needed.',
    };
  }
  if (/namespace|Operation not permitted|ENOSPC|No space left/i.test(said)) {
    return {
      found: `user namespaces are not to be had (${said})`,
      fix: 'sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=16384; in a container --security-opt seccomp=unconfined.',
    };
  }
  return {
    found: said === '' ? 'it ended without a word' : said,
    fix: 'Run `bwrap --version` and `longshore doctor` again.',
  };
}
