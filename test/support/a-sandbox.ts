import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { GuardedTree } from '../../apps/worker/src/process/guarded-tree.js';
import { startGuarded } from '../../apps/worker/src/process/guardian.js';
import { instantOf, machineClock } from '../../apps/worker/src/process/monotonic.js';
import { openSandbox } from '../../apps/worker/src/process/sandbox/open-sandbox.js';
import type { Sandbox, SandboxRules, SandboxRung } from '../../apps/worker/src/process/sandbox/rules.js';
import { buildOnce } from './build.js';
import { tempDir } from './temp-dir.js';

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TestSandbox {
  readonly sandbox: Sandbox;
  readonly workspace: string;
  readonly stateFolder: string;
  /** Starts a command as a provider is started: by a guardian, in the enclosure. */
  start(file: string, ...args: readonly string[]): Promise<GuardedTree>;
  /** Runs a command to its end and ends its tree. */
  run(file: string, ...args: readonly string[]): Promise<Ran>;
  /** Runs a module of Node's own language; its `console.log` is the answer. */
  node(code: string): Promise<Ran>;
  close(): Promise<void>;
}

/** A real sandbox of one rung over folders of its own. */
export async function aSandbox(rung: SandboxRung, more: Partial<SandboxRules> = {}): Promise<TestSandbox> {
  await buildOnce();
  const folder = tempDir('sandbox');
  const { workspace = join(folder, 'work'), stateFolder = join(folder, 'state') } = more;
  for (const path of [workspace, stateFolder]) await mkdir(path, { recursive: true, mode: 0o700 });
  const sandbox = await openSandbox({
    rung,
    ownFolder: join(folder, 'sandbox'),
    readable: [],
    writable: [],
    hidden: [],
    egress: { hosts: [] },
    keys: [],
    ...more,
    workspace,
    stateFolder,
  });
  const trees: GuardedTree[] = [];
  const start = async (file: string, ...args: readonly string[]): Promise<GuardedTree> => {
    const environment = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ...sandbox.environment };
    const tree = await startGuarded({
      command: sandbox.enclosure({ file, args, cwd: workspace, environment }),
      marker: { worker: 'w_escape', job: randomUUID(), epoch: 1 },
      lease: { sentAt: instantOf(machineClock), leaseMs: 120_000 },
    });
    trees.push(tree);
    return tree;
  };
  const run = async (file: string, ...args: readonly string[]): Promise<Ran> => {
    const tree = await start(file, ...args);
    tree.stdin.end();
    const said = Promise.all([text(tree.stdout), text(tree.stderr)]);
    const { code } = await tree.exited;
    await tree.stop({ graceMs: 0 });
    const [stdout, stderr] = await said;
    return { code, stdout, stderr };
  };
  return {
    sandbox,
    workspace,
    stateFolder,
    start,
    run,
    node: async (code) => {
      const script = join(workspace, `${randomUUID()}.mjs`);
      await writeFile(script, code);
      return run(process.execPath, script);
    },
    close: async () => {
      for (const tree of trees) await tree.stop({ graceMs: 0 });
      await sandbox.close();
    },
  };
}
