import { FarmError } from '#contracts';
import {
  allowedFamilies,
  deniedCalls,
  deniedControls,
  type FilteredArch,
  judgedCalls,
  missingCalls,
  newNamespaces,
  unsharedNamespaces,
} from './denied-calls.js';

/** One instruction of classic BPF: code, jumps when true and when false, operand (linux/filter.h). */
type Instruction = readonly [code: number, jt: number, jf: number, k: number];

const load = 0x20;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpSet = 0x45;
const answer = 0x06;

/** Offsets in seccomp_data; of an argument the low half, which is all that the kernel reads of those judged here. */
const at = { call: 0, arch: 4, first: 16, second: 24 } as const;

/** Answers of a filter (linux/seccomp.h). */
const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const fail = (errno: number): number => 0x0005_0000 | errno;
export const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;

/** AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64. */
const archWords: Readonly<Record<FilteredArch, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

/** A call of the x32 ABI has this bit: other numbers for the same kernel. */
const x32Bit = 0x4000_0000;

/**
 * A filter of system calls for `bwrap --seccomp`: allows what is not named. Calls of another ABI of the processor (32 bit) end the
 * process, as their numbers mean other things.
 *
 * @throws FarmError `misconfigured` for a processor whose numbers we do not know
 */
export function seccompFilter(arch: string = process.arch): Buffer {
  if (arch !== 'x64' && arch !== 'arm64') {
    throw new FarmError('misconfigured', 'There is no filter of system calls for the processor of this machine.', {
      hint: 'Real agents run on x86-64 and arm64.',
    });
  }
  const { socket, clone, unshare, ioctl } = judgedCalls;
  return encoded([
    [load, 0, 0, at.arch],
    [jumpEqual, 1, 0, archWords[arch]],
    [answer, 0, 0, kill],
    [load, 0, 0, at.call],
    ...(arch === 'x64' ? unless(jumpAtLeast, x32Bit, [[answer, 0, 0, fail(errno.ENOSYS)]]) : []),
    ...refusals(deniedCalls, arch, errno.EPERM),
    ...refusals(missingCalls, arch, errno.ENOSYS),
    ...unless(jumpEqual, socket[arch], [
      [load, 0, 0, at.first],
      ...allowedFamilies.flatMap((family) => unless(jumpEqual, family, [[answer, 0, 0, allow]])),
      [answer, 0, 0, fail(errno.EAFNOSUPPORT)],
    ]),
    ...unless(jumpEqual, clone[arch], judged(at.first, jumpSet, [newNamespaces])),
    ...unless(jumpEqual, unshare[arch], judged(at.first, jumpSet, [unsharedNamespaces])),
    ...unless(jumpEqual, ioctl[arch], judged(at.second, jumpEqual, deniedControls)),
    [answer, 0, 0, allow],
  ]);
}

/** What is done where the test holds; passed over where it does not. */
function unless(test: number, k: number, then: readonly Instruction[]): readonly Instruction[] {
  return [[test, 0, then.length, k], ...then];
}

function refusals(
  calls: Readonly<Record<string, Readonly<Partial<Record<FilteredArch, number>>>>>,
  arch: FilteredArch,
  code: number,
): readonly Instruction[] {
  return Object.values(calls).flatMap(({ [arch]: call }) =>
    call === undefined ? [] : unless(jumpEqual, call, [[answer, 0, 0, fail(code)]]),
  );
}

/** Refused where the argument meets one of the tests. Always answers. */
function judged(argument: number, test: number, values: readonly number[]): readonly Instruction[] {
  return [
    [load, 0, 0, argument],
    ...values.flatMap((value) => unless(test, value, [[answer, 0, 0, fail(errno.EPERM)]])),
    [answer, 0, 0, allow],
  ];
}

/** struct sock_filter, in the order of bytes that both processors have. */
function encoded(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jt, jf, k], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jt, index * 8 + 2);
    bytes.writeUInt8(jf, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  });
  return bytes;
}
