import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aSandbox, type TestSandbox } from '../../../../../test/support/a-sandbox.js';
import { aRound } from '../../../../../test/support/git-round.js';
import { aNats, type TestNats } from '../../../../../test/support/nats.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { testRun } from '../../../../../test/support/test-run.js';
import { waitUntil } from '../../../../../test/support/wait-until.js';
import { checkFileReferences } from '../../workspace/file-references.js';
import { type SandboxRules, type SandboxRung, sandboxRungs } from './rules.js';
import { countsProcesses } from './tree-limits.js';

const canary = 'the-canary-of-the-escape-suite';
const isRoot = process.getuid?.() === 0;

type Outcome = 'stopped' | 'escaped';
type Table = Readonly<Record<SandboxRung, Outcome>>;

const onlyWalls: Table = { none: 'escaped', process: 'escaped', bwrap: 'stopped' };
const everywhere: Table = { none: 'stopped', process: 'stopped', bwrap: 'stopped' };

/** Each attempt in a real sandbox of each rung. An attempt answers whether it got out. */
async function tried(
  attempt: (box: TestSandbox, rung: SandboxRung) => Promise<boolean>,
  more: Partial<SandboxRules> = {},
): Promise<Table> {
  const outcomes: Record<SandboxRung, Outcome> = { none: 'escaped', process: 'escaped', bwrap: 'escaped' };
  for (const rung of sandboxRungs) {
    const box = await aSandbox(rung, more);
    try {
      outcomes[rung] = (await attempt(box, rung)) ? 'escaped' : 'stopped';
    } finally {
      await box.close();
    }
  }
  return outcomes;
}

/** What a program inside hears from a place; it says nothing where it reaches nothing. */
const heard = (box: TestSandbox, where: string, said = ''): Promise<{ stdout: string }> =>
  box.node(`
    import { connect } from 'node:net';
    const socket = connect(${where});
    socket.setTimeout(3000, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('connect', () => socket.write(Buffer.from(${JSON.stringify(said)}, 'latin1')));
    socket.on('data', (data) => { console.log(data.toString('latin1')); socket.destroy(); });
  `);

/** Through the proxy that the environment names, as a program would that means to use it. */
const throughProxy = (box: TestSandbox, target: string): Promise<{ stdout: string }> =>
  box.node(`
    import { request } from 'node:http';
    const proxy = process.env.http_proxy && new URL(process.env.http_proxy);
    if (proxy) {
      const authorization = 'Basic ' + btoa(proxy.username + ':' + proxy.password);
      const headers = { host: new URL(${JSON.stringify(target)}).host, 'proxy-authorization': authorization };
      const asked = request({ host: proxy.hostname, port: proxy.port, path: ${JSON.stringify(target)}, headers, timeout: 5000 });
      asked.on('error', () => {});
      asked.on('response', (answer) => { console.log(answer.statusCode); answer.pipe(process.stdout); });
      asked.end();
    }
  `);

const servers: Server[] = [];
const children: ChildProcess[] = [];
let nats: TestNats;

beforeAll(async () => {
  nats = await aNats();
});

afterAll(async () => {
  for (const server of servers) server.close();
  for (const child of children) child.kill('SIGKILL');
  await nats.stop();
});

/** A service of this machine that tells the canary to whoever reaches it. */
async function aService(where: { readonly path: string } | { readonly port: number }): Promise<number> {
  const server = createServer((_request, response) => response.end(canary));
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen('path' in where ? where : { ...where, host: '127.0.0.1' }, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const get = 'GET / HTTP/1.0\r\n\r\n';

describe('out of a sandbox', () => {
  it('E1 nothing of the home is read but behind no walls', async () => {
    const home = tempDir('home');
    mkdirSync(join(home, '.ssh'));
    const key = join(home, '.ssh', 'id_ed25519');
    writeFileSync(key, canary, { mode: 0o600 });
    expect(await tried(async (box) => (await box.run('cat', key)).stdout.includes(canary))).toEqual(onlyWalls);
    // and where its owner shows the home to sessions, what is hidden stays so
    const shown = { readable: [home], hidden: [join(home, '.ssh')] };
    expect(await tried(async (box) => (await box.run('cat', key)).stdout.includes(canary), shown)).toEqual(onlyWalls);
  });

  it('E2 nothing is written outside of the workspace but behind no walls', async () => {
    const outside = tempDir('outside');
    const system = isRoot ? '/usr/local/longshore-escape' : join(outside, 'system');
    const attempt = async (box: TestSandbox, rung: SandboxRung): Promise<boolean> => {
      const file = join(outside, rung);
      const targets =
        rung === 'bwrap' ? [file, system, '/etc/longshore-escape', '/proc/sys/kernel/core_pattern'] : [file];
      for (const target of targets) await box.run('sh', '-c', 'echo core > "$0"', target);
      return [file, system, '/etc/longshore-escape'].some(existsSync);
    };
    const readable = { readable: [outside] };
    expect(await tried(attempt, readable)).toEqual(onlyWalls);
  });

  it('E2 root inside writes to no setting of the kernel', async () => {
    const box = await aSandbox('bwrap');
    try {
      const files = [
        '/proc/sys/kernel/core_pattern',
        '/proc/sysrq-trigger',
        '/proc/self/oom_score_adj',
        '/dev/x',
        '/x',
      ];
      const { stdout } = await box.run(
        'sh',
        '-c',
        'for f; do (: >> "$f") && echo "wrote $f"; done; echo looked',
        'sh',
        ...files,
      );
      expect(stdout).toContain('looked');
      expect(stdout).not.toContain('wrote');
    } finally {
      await box.close();
    }
  });

  it('E3 the metadata service of a cloud is out of reach, also through the proxy', async () => {
    // it stands on a link that every process of the machine has: a service of the machine stands in for it
    const port = await aService({ port: 0 });
    const attempt = async (box: TestSandbox): Promise<boolean> => {
      const answers = [
        await heard(box, `{ host: '127.0.0.1', port: ${port} }`, get),
        await throughProxy(box, 'http://169.254.169.254/latest/meta-data/'),
        await throughProxy(box, `http://127.0.0.1:${port}/`),
      ];
      return answers.some(({ stdout }) => stdout.includes(canary) || stdout.startsWith('200'));
    };
    const wide = { egress: { hosts: ['*', '169.254.169.254', `127.0.0.1:${port}`] } };
    expect(await tried(attempt, wide)).toEqual(onlyWalls);
  });

  it('E4 the database of the controller does not answer', async () => {
    const { hostname, port } = new URL(testRun().ownerUrl);
    // PostgreSQL says N or S to the wish for TLS
    const attempt = async (box: TestSandbox) =>
      /^[NS]/.test(
        (await heard(box, `{ host: '${hostname}', port: ${port} }`, '\0\0\0\b\u0004\u00d2\u0016\u002f')).stdout,
      );
    expect(await tried(attempt, { egress: { hosts: ['*'] } })).toEqual(onlyWalls);
  });

  it('E5 NATS does not answer, whatever credentials one has', async () => {
    const { hostname, port } = new URL(nats.url);
    const attempt = async (box: TestSandbox) =>
      (await heard(box, `{ host: '${hostname}', port: ${port} }`, 'CONNECT {}\r\nPING\r\n')).stdout.startsWith('INFO');
    expect(await tried(attempt, { egress: { hosts: ['*'] } })).toEqual(onlyWalls);
  });

  it('E6 no sibling is seen or signalled', async () => {
    const attempt = async (box: TestSandbox): Promise<boolean> => {
      const sibling = spawn('sleep', ['300'], { env: { CANARY: canary } });
      children.push(sibling);
      const ended = new Promise<void>((resolve) => sibling.once('exit', () => resolve()));
      const { stdout } = await box.run(
        'sh',
        '-c',
        'cat /proc/$0/environ; kill -KILL $0 && echo signalled',
        `${sibling.pid}`,
      );
      if (stdout.includes('signalled')) await ended;
      return stdout.includes(canary) || sibling.signalCode !== null;
    };
    expect(await tried(attempt)).toEqual(onlyWalls);
  });

  it('E7 a fork bomb ends at the limit of processes', async () => {
    const pids = 400;
    const bomb = 'i=0; while [ $i -lt 700 ]; do sleep 60 & i=$((i+1)); done; echo all';
    const attempt = async (box: TestSandbox) => (await box.run('sh', '-c', bomb)).stdout.includes('all');
    const outcomeOf = async (walled: boolean) => ((await countsProcesses(walled)) ? 'stopped' : 'escaped');
    expect(await tried(attempt, { limits: { pids } })).toEqual({
      none: 'escaped',
      process: await outcomeOf(false),
      bwrap: await outcomeOf(true),
    });
  });

  it('E8 a memory bomb ends at the limit of memory', async () => {
    const mebibyte = 1024 ** 2;
    const bomb = `const held = []; for (let n = 0; n < 24; n += 1) held.push(Buffer.alloc(50 * ${mebibyte}, 1)); console.log('held', held.length);`;
    const attempt = async (box: TestSandbox) => (await box.node(bomb)).stdout.includes('held');
    expect(await tried(attempt, { limits: { memoryBytes: 768 * mebibyte } })).toEqual({
      none: 'escaped',
      process: 'stopped',
      bwrap: 'stopped',
    });
  });

  it('E9 no unix socket of the machine is reached: Docker, by path or by abstract name', async () => {
    const folder = tempDir('run');
    const path = join(folder, 'docker.sock');
    await aService({ path });
    const abstract = `\0longshore-escape-${process.pid}`;
    await aService({ path: abstract });
    const attempt = async (box: TestSandbox): Promise<boolean> => {
      const answers = [
        await heard(box, `{ path: ${JSON.stringify(path)} }`, get),
        await heard(box, `{ path: ${JSON.stringify(abstract)} }`, get),
      ];
      return answers.some(({ stdout }) => stdout.includes(canary));
    };
    expect(await tried(attempt)).toEqual(onlyWalls);
  });

  it('E10 a symlink out of the workspace is no file reference', async () => {
    const attempt = async (box: TestSandbox): Promise<boolean> => {
      await box.run('sh', '-c', 'ln -s /etc/passwd notes.md; ln -s /etc folder');
      const taken = await Promise.allSettled(
        ['notes.md', 'folder/passwd'].map((path) => checkFileReferences(box.workspace, [path])),
      );
      return taken.some(({ status }) => status === 'fulfilled');
    };
    expect(await tried(attempt)).toEqual(everywhere);
  });

  it('E11 E12 a symlink brings nothing of the machine along, and what was planted in .git runs nowhere', async () => {
    const round = await aRound();
    const outside = tempDir('outside');
    writeFileSync(join(outside, 'secret.txt'), canary);
    const ran = join(tempDir('ran'), 'ran');
    const attempt = async (_box: TestSandbox, rung: SandboxRung): Promise<boolean> => {
      const { dir: workspace, capture } = await round.workspace();
      const box = await aSandbox(rung, { workspace });
      const hook = `printf '#!/bin/sh\\ntouch ${ran}\\n'`;
      const plant = [
        `ln -s ${outside} linked`,
        `ln -s ${join(outside, 'secret.txt')} secret.txt`,
        `cd .git && mkdir -p hooks`,
        ...['pre-commit', 'post-index-change', 'post-checkout'].map(
          (name) => `${hook} > hooks/${name} && chmod +x hooks/${name}`,
        ),
        `${hook} > monitor && chmod +x monitor`,
        `printf '[core]\\n\\tfsmonitor = %s\\n\\thooksPath = %s\\n' "$PWD/monitor" "$PWD/hooks" >> config`,
        `printf '[filter "x"]\\n\\tclean = %s\\n' "$PWD/monitor" >> config`,
        `echo '* filter=x' > ../.gitattributes`,
      ].join(' && ');
      const planted = await startIn(box, workspace, plant);
      const captured = await capture();
      await box.close();
      expect(planted).toBe(0);
      expect(captured).toMatchObject({ kind: 'captured' });
      if (captured.kind !== 'captured') return true;
      return existsSync(ran) || JSON.stringify(captured).includes(canary) || captured.total !== 3;
    };
    expect(await tried(attempt)).toEqual(everywhere);
  });

  it('E13 the workspace of another Dispatch is not there', async () => {
    const home = tempDir('worker');
    const sibling = join(home, 'workspaces', 'other-1', 'work');
    mkdirSync(sibling, { recursive: true });
    writeFileSync(join(sibling, 'plan.md'), canary);
    const own = join(home, 'workspaces', 'mine-1', 'work');
    mkdirSync(own, { recursive: true });
    const rules = { workspace: own, readable: [home], hidden: [home] };
    const attempt = async (box: TestSandbox) =>
      (await box.run('sh', '-c', 'cat "$0"/*/work/plan.md', join(home, 'workspaces'))).stdout.includes(canary);
    expect(await tried(attempt, rules)).toEqual(onlyWalls);
  });

  it('E14 a grandchild that hides from its marker, its session and its parents does not outlive a cancel behind walls', async () => {
    const attempt = async (box: TestSandbox, rung: SandboxRung): Promise<boolean> => {
      const mark = `3${sandboxRungs.indexOf(rung)}7.${process.pid}`;
      // told once the parent between is gone: until then the tree still reaches it by its parents
      const tree = await box.start('sh', '-c', `env -i setsid sh -c 'sleep ${mark} &'; echo there; sleep 300`);
      await new Promise<void>((resolve) => tree.stdout.once('data', () => resolve()));
      await waitUntil(() => processesNamed(mark).length > 0);
      const end = await tree.stop({ graceMs: 0 });
      const left = processesNamed(mark);
      for (const pid of left) process.kill(pid, 'SIGKILL');
      return !end.empty || left.length > 0;
    };
    expect(await tried(attempt)).toEqual(onlyWalls);
  });

  it('E15 a host that is not on the list is not reached by name, by address or through the proxy variable', async () => {
    const [allowed, forbidden] = [await aService({ port: 0 }), await aService({ port: 0 })];
    const attempt = async (box: TestSandbox, rung: SandboxRung): Promise<boolean> => {
      if (rung !== 'none') expect((await throughProxy(box, `http://localhost:${allowed}/`)).stdout).toContain(canary);
      const answers = [
        await heard(box, `{ host: 'localhost', port: ${forbidden} }`, get),
        await heard(box, `{ host: '127.0.0.1', port: ${forbidden} }`, get),
        await throughProxy(box, `http://localhost:${forbidden}/`),
        await throughProxy(box, `http://127.0.0.1:${forbidden}/`),
        await throughProxy(box, `http://localhost:${allowed}@127.0.0.1:${forbidden}/`),
      ];
      return answers.some(({ stdout }) => stdout.includes(canary));
    };
    const hosts = [`localhost:${allowed}`];
    expect(await tried(attempt, { egress: { hosts, privateHosts: hosts } })).toEqual(onlyWalls);
  });
});

/** Another workspace than the box's own folder: the command's working directory is there. */
async function startIn(box: TestSandbox, workspace: string, script: string): Promise<number | null> {
  return (await box.run('sh', '-c', `cd '${workspace}' && ${script}`)).code;
}

function processesNamed(word: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      return command.startsWith('sleep') && command.includes(word) ? [Number(name)] : [];
    } catch {
      // it ended meanwhile
      return [];
    }
  });
}
