import { describe, expect, it } from '@jest/globals';
import { deniedCalls, judgedCalls, missingCalls } from './denied-calls.js';
import { errno, seccompFilter } from './seccomp-filter.js';

const archWords = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003, arm: 0x40000028 } as const;

/** As the kernel runs it (classic BPF over struct seccomp_data): an errno, `allowed` or `killed`. */
function judge(filter: Buffer, arch: number, call: number, ...args: readonly bigint[]): number | 'allowed' | 'killed' {
  const seen = Buffer.alloc(64);
  seen.writeUInt32LE(call >>> 0, 0);
  seen.writeUInt32LE(arch, 4);
  for (const [index, arg] of args.entries()) seen.writeBigUInt64LE(BigInt.asUintN(64, arg), 16 + 8 * index);
  let word = 0;
  for (let at = 0; at * 8 < filter.length; at += 1) {
    const [code, k] = [filter.readUInt16LE(at * 8), filter.readUInt32LE(at * 8 + 4)];
    const jump = (holds: boolean): void => {
      at += filter.readUInt8(at * 8 + (holds ? 2 : 3));
    };
    if (code === 0x20) word = seen.readUInt32LE(k);
    else if (code === 0x15) jump(word === k);
    else if (code === 0x35) jump(word >= k);
    else if (code === 0x45) jump((word & k) !== 0);
    else if (code !== 0x06) throw new Error(`instruction ${code}`);
    else if (k === 0x7fff0000) return 'allowed';
    else if (k === 0x80000000) return 'killed';
    else if (k >>> 16 === 5) return k & 0xffff;
    else throw new Error(`answer ${k}`);
  }
  throw new Error('the program has no end');
}

describe.each(['x64', 'arm64'] as const)('the filter of system calls for %s', (arch) => {
  const filter = seccompFilter(arch);
  const asked = (call: number, ...args: readonly bigint[]) => judge(filter, archWords[arch], call, ...args);
  const callsOf = (calls: typeof deniedCalls) => Object.values(calls).flatMap(({ [arch]: call }) => call ?? []);

  it('refuses what is named, and only that', () => {
    const refused = new Map([
      ...callsOf(deniedCalls).map((call) => [call, errno.EPERM] as const),
      ...callsOf(missingCalls).map((call) => [call, errno.ENOSYS] as const),
    ]);
    expect(refused.size).toBeGreaterThan(40);
    const judged: readonly number[] = Object.values(judgedCalls).map(({ [arch]: call }) => call);
    expect(judged.filter((call) => refused.has(call))).toEqual([]);
    for (let call = 0; call < 512; call += 1) {
      if (!judged.includes(call)) expect([call, asked(call)]).toEqual([call, refused.get(call) ?? 'allowed']);
    }
  });

  it('opens sockets of the own network and of files only', () => {
    const families = Array.from({ length: 64 }, (_, family) => family);
    const opened = families.filter((family) => asked(judgedCalls.socket[arch], BigInt(family)) === 'allowed');
    expect(opened).toEqual([1, 2, 10, 16]);
    const [vsock, alg] = [40n, 38n];
    for (const family of [vsock, alg, -1n]) expect(asked(judgedCalls.socket[arch], family)).toBe(errno.EAFNOSUPPORT);
    // the kernel reads an int: what stands above it hides nothing
    expect(asked(judgedCalls.socket[arch], (1n << 32n) | vsock)).toBe(errno.EAFNOSUPPORT);
  });

  it('starts threads and processes, never in new namespaces', () => {
    const { clone, unshare } = judgedCalls;
    // as of pthread_create, fork and posix_spawn
    for (const flags of [0x3d0f00n, 0x1200011n, 0x4111n]) expect(asked(clone[arch], flags)).toBe('allowed');
    // CLONE_FS, CLONE_FILES, CLONE_SYSVSEM
    expect(asked(unshare[arch], 0x40600n)).toBe('allowed');
    for (const bit of [17n, 25n, 26n, 27n, 28n, 29n, 30n]) {
      expect(asked(clone[arch], (1n << bit) | 17n)).toBe(errno.EPERM);
      expect(asked(unshare[arch], 1n << bit)).toBe(errno.EPERM);
    }
    expect(asked(unshare[arch], 0x80n)).toBe(errno.EPERM);
  });

  it('lets nobody type into a terminal for somebody else', () => {
    const tcgets = 0x5401n;
    expect(asked(judgedCalls.ioctl[arch], 0n, tcgets)).toBe('allowed');
    for (const control of [0x5412n, 0x541cn, (1n << 32n) | 0x5412n])
      expect(asked(judgedCalls.ioctl[arch], 0n, control)).toBe(errno.EPERM);
  });

  it('lets no call by under another ABI', () => {
    for (const other of Object.values(archWords).filter((word) => word !== archWords[arch]))
      for (const call of [0, 39, 250]) expect(judge(filter, other, call)).toBe('killed');
    if (arch === 'x64') for (const call of [1, 250, 520]) expect(asked(0x40000000 | call)).toBe(errno.ENOSYS);
  });
});

it('is not made for a processor whose numbers are not known', () => {
  expect(() => seccompFilter('riscv64')).toThrow(expect.objectContaining({ code: 'misconfigured' }));
});
