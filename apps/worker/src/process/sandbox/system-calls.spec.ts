import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aSandbox, type TestSandbox } from '../../../../../test/support/a-sandbox.js';
import { deniedCalls, judgedCalls, missingCalls } from './denied-calls.js';
import { errno } from './seccomp-filter.js';

const arch = process.arch === 'arm64' ? 'arm64' : 'x64';
const canary = 'the-canary-of-the-keyring';

/** Perl makes any call by its number; without it there is nothing to try with. */
const itWithPerl = hasPerl() ? it : it.skip;

function hasPerl(): boolean {
  try {
    execFileSync('/usr/bin/perl', ['-e', '1']);
    return true;
  } catch {
    return false;
  }
}

/** Errno of each call, 0 where it was done; arguments are numbers, missing ones 0. */
async function triedIn(box: TestSandbox, calls: readonly (readonly number[])[]): Promise<readonly number[]> {
  const words = calls.map((call) => Array.from({ length: 6 }, (_, index) => call[index] ?? 0));
  const script = `for (${words.map((call) => `[${call}]`)}) { my ($call, @args) = @$_; $! = 0; print syscall($call, @args) < 0 ? $!+0 : 0, " " }`;
  const { stdout } = await box.run('/usr/bin/perl', '-e', script);
  return stdout.trim().split(' ').map(Number);
}

const numberOf = (calls: typeof deniedCalls, name: string): number => calls[name]?.[arch] ?? -1;

describe('the system calls of a session', () => {
  itWithPerl('H28 reads no key of the keyring that the worker was started with', async () => {
    // a session keyring goes down to every child, as one of a login does: a key is put there, then the tree is started
    const [add, request, control] = ['add_key', 'request_key', 'keyctl'].map((name) => numberOf(deniedCalls, name));
    const join = `
      my ($type, $name, $key) = ("user", "longshore-escape", "${canary}");
      syscall(${control}, 1, 0) > 0 or die "no keyring"; syscall(${add}, $type, $name, $key, length $key, -3) > 0 or die "no key";
      exec { $ARGV[0] } @ARGV;`;
    const steal = `
      my ($type, $name, $read) = ("user", "longshore-escape", "\\0" x 64);
      my $key = syscall(${request}, $type, $name, 0, 0); syscall(${control}, 11, $key, $read, 64); print "looked $read";`;
    const said: string[] = [];
    for (const rung of ['none', 'bwrap'] as const) {
      const box = await aSandbox(rung);
      const { file, args, cwd, environment } = box.sandbox.enclosure({
        file: '/usr/bin/perl',
        args: ['-e', steal],
        cwd: box.workspace,
        environment: { PATH: process.env.PATH ?? '', ...box.sandbox.environment },
      });
      const inherited = ['-e', join, file, ...args];
      said.push(execFileSync('/usr/bin/perl', inherited, { cwd, env: environment, encoding: 'utf8' }));
      await box.close();
    }
    expect(said[0]).toContain(canary);
    expect(said[1]).toContain('looked');
    expect(said[1]).not.toContain(canary);
  });

  itWithPerl('H28 makes none of the calls that lead past the walls, and the others as ever', async () => {
    const box = await aSandbox('bwrap');
    try {
      const named = (calls: typeof deniedCalls) =>
        Object.values(calls).flatMap(({ [arch]: call }) => (call === undefined ? [] : [[call]]));
      const denied = await triedIn(box, named(deniedCalls));
      expect(new Set(denied)).toEqual(new Set([errno.EPERM]));
      expect(denied).toHaveLength(named(deniedCalls).length);
      expect(new Set(await triedIn(box, named(missingCalls)))).toEqual(new Set([errno.ENOSYS]));
      const { socket, unshare, clone } = judgedCalls;
      const [stream, newUser] = [1, 0x10000000];
      const vsock = 40;
      const tried = [
        [socket[arch], vsock, stream],
        [unshare[arch], newUser],
        [clone[arch], newUser | 17],
        [socket[arch], 1, stream],
        [socket[arch], 2, stream],
        [socket[arch], 10, stream],
      ];
      expect(await triedIn(box, tried)).toEqual([errno.EAFNOSUPPORT, errno.EPERM, errno.EPERM, 0, 0, 0]);
    } finally {
      await box.close();
    }
  });

  it('H28 ends a program that calls by the numbers of another ABI', async () => {
    if (process.arch !== 'x64') return;
    const box = await aSandbox('bwrap');
    try {
      const program = join(box.workspace, 'by-int-80');
      // mov eax, 1 (exit of 32 bit); mov ebx, 42; int 0x80
      writeFileSync(program, elf([0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80]));
      chmodSync(program, 0o755);
      const sigsys = 31;
      expect(await box.run(program)).toMatchObject({ code: 128 + sigsys });
    } finally {
      await box.close();
    }
  });
});

/** The smallest program of 64 bits with this code. */
function elf(code: readonly number[]): Buffer {
  const file = Buffer.alloc(120 + code.length);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  // a program, for x86-64
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(62, 18);
  file.writeUInt32LE(1, 20);
  const base = 0x400000n;
  file.writeBigUInt64LE(base + 120n, 24);
  // one program header, behind this one
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  // loaded, to read and run
  file.writeUInt32LE(1, 64);
  file.writeUInt32LE(5, 68);
  file.writeBigUInt64LE(base, 80);
  file.writeBigUInt64LE(base, 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x1000n, 112);
  file.set(code, 120);
  return file;
}
