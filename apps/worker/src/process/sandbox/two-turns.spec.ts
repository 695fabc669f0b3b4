import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { aSandbox } from '../../../../../test/support/a-sandbox.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import { folderAt } from '../../workspace/owner-marker.js';

const canary = 'the-canary-of-the-machine';

/** What the program of a session may write in its state folder. */
const own = 'agent';

/** What belongs to the machine and to no session. */
let outside: string;
let victim: string;

beforeEach(() => {
  outside = tempDir('outside');
  victim = join(outside, 'victim');
  writeFileSync(victim, canary, { mode: 0o600 });
});

/** A Dispatch's folder, as a worker lays it. */
function aDispatch() {
  const { work, state, sandbox } = folderAt(tempDir('dispatch'));
  return { workspace: work, stateFolder: state, ownFolder: sandbox };
}

/** One process of a session; the next call with the same Dispatch is the resumption. Answers all that it said. */
async function turn(dispatch: ReturnType<typeof aDispatch>, script: string): Promise<string> {
  const box = await aSandbox('bwrap', { ...dispatch, stateWritable: [own] });
  try {
    const { stdout, stderr } = await box.run('sh', '-c', script, 'sh', outside, join(dispatch.stateFolder, own));
    return stdout + stderr;
  } finally {
    await box.close();
  }
}

const untouched = () => ({ names: readdirSync(outside), content: readFileSync(victim, 'utf8') });
const asItWas = { names: ['victim'], content: canary };

describe('a session that goes on in another process', () => {
  it('H28 E2 mounts and writes nothing that its agent put in the place of the folders of its sandbox', async () => {
    const dispatch = aDispatch();
    const plant = `
      for top in "$2/sandbox" "$2/../sandbox" "$2/../../sandbox"; do
        rm -rf "$top"; mkdir -p "$top"
        for name in home tmp shm sockets; do ln -s "$1" "$top/$name"; done
        ln -s "$1/victim" "$top/hosts"
      done
      ln -s "$1" /run/longshore/planted; ln -sf "$1/victim" /etc/hosts
      echo mine > "$HOME/kept"; echo planted`;
    expect(await turn(dispatch, plant)).toContain('planted');
    expect(untouched()).toEqual(asItWas);
    expect(readdirSync(join(dispatch.ownFolder, 'sockets'))).toEqual([]);
    // they were there to be followed
    expect(existsSync(join(dispatch.stateFolder, own, 'sandbox', 'hosts'))).toBe(true);

    const reach = `
      for place in "$HOME" /tmp /var/tmp /dev/shm /run/longshore; do
        cat "$place/victim"; echo x > "$place/victim"; echo x > "$place/taken"
      done
      cat /etc/hosts "$HOME/kept"`;
    const said = await turn(dispatch, reach);
    expect(said).toMatch(/127\.0\.0\.1 localhost\n::1 localhost\nmine/);
    expect(said).not.toContain(canary);
    expect(untouched()).toEqual(asItWas);
  });

  it('E2 changes nothing that the worker laid into its state folder, and keeps what its own program wrote there', async () => {
    const dispatch = aDispatch();
    mkdirSync(dispatch.stateFolder, { recursive: true });
    const laid = join(dispatch.stateFolder, 'environment.sh');
    writeFileSync(laid, 'export MODE=test\n', { mode: 0o600 });
    const change = `
      cat "$2/../environment.sh"; echo mine > "$2/kept"
      echo 'export MODE=evil' > "$2/../environment.sh"; rm -f "$2/../environment.sh"; touch "$2/../planted"
      mv "$2" "$2/../moved"; ln -s "$1" "$2/../link"`;
    expect(await turn(dispatch, change)).toContain('export MODE=test');
    expect(readdirSync(dispatch.stateFolder).sort()).toEqual([own, 'environment.sh']);
    expect(readFileSync(laid, 'utf8')).toBe('export MODE=test\n');
    expect(await turn(dispatch, 'cat "$2/kept"')).toBe('mine\n');
  });

  it('E2 makes no folder of the machine where its agent left a symlink on the way to a mount', async () => {
    const dispatch = aDispatch();
    // the workspace lies beneath /tmp, which is the session's own: what is above a mount can be moved, also where that is busy
    const plant =
      'top=$(dirname "$(dirname "$2")"); cd /; mv "$top" /tmp/moved && ln -s "/oldroot$1" "$top" && test -L "$top" && echo planted';
    expect(await turn(dispatch, plant)).toContain('planted');
    await expect(turn(dispatch, 'true')).rejects.toMatchObject({ code: 'misconfigured' });
    expect(untouched()).toEqual(asItWas);
  });

  it('E2 refuses a folder of the sandbox that is a symlink, and writes its hosts anew', async () => {
    const [first, second] = [aDispatch(), aDispatch()];
    for (const { ownFolder } of [first, second]) mkdirSync(ownFolder);
    symlinkSync(victim, join(first.ownFolder, 'hosts'));
    expect(await turn(first, 'cat /etc/hosts')).toContain('localhost');
    symlinkSync(outside, join(second.ownFolder, 'home'));
    await expect(turn(second, 'true')).rejects.toMatchObject({ code: 'misconfigured' });
    expect(untouched()).toEqual(asItWas);
  });

  it('E2 keeps no folder of the sandbox beneath what can be written inside', async () => {
    const dispatch = aDispatch();
    for (const top of [join(dispatch.stateFolder, own), dispatch.workspace]) {
      mkdirSync(top, { recursive: true });
      await expect(turn({ ...dispatch, ownFolder: join(top, 'sandbox') }, 'true')).rejects.toMatchObject({
        code: 'misconfigured',
      });
    }
  });
});
