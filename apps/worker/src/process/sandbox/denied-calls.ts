/** A processor that we know the numbers of system calls of. */
export type FilteredArch = 'x64' | 'arm64';

type Numbers = Readonly<Partial<Record<FilteredArch, number>>>;

/**
 * System calls that no session needs and that lead past the walls or far into the kernel. Numbers of Linux: arch/x86's
 * syscall_64.tbl, and scripts/syscall.tbl (asm-generic) for arm64. A call that is not named is allowed.
 */
export const deniedCalls: Readonly<Record<string, Numbers>> = {
  // keyrings are of no namespace: the worker's session keyring is every child's
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  // memory and descriptors of another process: a script beside the agent would take its token (H34)
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  process_madvise: { x64: 440, arm64: 440 },
  kcmp: { x64: 312, arm64: 272 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  // the kernel's own machinery
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  fanotify_init: { x64: 300, arm64: 262 },
  modify_ldt: { x64: 154 },
  iopl: { x64: 172 },
  ioperm: { x64: 173 },
  uselib: { x64: 134 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  syslog: { x64: 103, arm64: 116 },
  acct: { x64: 163, arm64: 89 },
  reboot: { x64: 169, arm64: 142 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: { x64: 443, arm64: 443 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  // the tree of files and the namespaces are the walls
  setns: { x64: 308, arm64: 268 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  open_by_handle_at: { x64: 304, arm64: 265 },
};

/**
 * As on a kernel that does not have them: programs have another way. What clone3 is asked for lies in memory, where no filter
 * looks, so programs fall back to clone; io_uring passes system calls by the filter.
 */
export const missingCalls: Readonly<Record<string, Numbers>> = {
  clone3: { x64: 435, arm64: 435 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
};

/** Calls of which an argument says whether they are allowed. */
export const judgedCalls = {
  socket: { x64: 41, arm64: 198 },
  clone: { x64: 56, arm64: 220 },
  unshare: { x64: 272, arm64: 97 },
  ioctl: { x64: 16, arm64: 29 },
} as const satisfies Readonly<Record<string, Required<Numbers>>>;

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: of the sandbox's own network. AF_VSOCK, AF_ALG and others know no such namespace. */
export const allowedFamilies = [1, 2, 10, 16] as const;

/** CLONE_NEW…: TIME, NS, CGROUP, UTS, IPC, USER, PID, NET. */
const newTime = 0x80;
export const newNamespaces = 0x2_0000 | 0x200_0000 | 0x400_0000 | 0x800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
/** Of clone the lowest byte is a signal. */
export const unsharedNamespaces = newNamespaces | newTime;

/** TIOCSTI types into a terminal for whoever reads it; TIOCLINUX pastes there. */
export const deniedControls = [0x5412, 0x541c] as const;
