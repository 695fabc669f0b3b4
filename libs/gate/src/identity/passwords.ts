import crypto, { randomBytes, randomInt, scrypt, timingSafeEqual } from 'node:crypto';
import { FarmError, limits } from '#contracts';

/**
 * Parameters that OWASP names for each: about 50 ms and 19 MiB, or 32 MiB. A stored hash carries its own, so that they can be
 * raised; a login under older ones writes it anew.
 */
const argon = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const scryptCost = { logN: 15, r: 8, p: 3 } as const;
const saltBytes = 16;
const hashBytes = 32;

/** A Node that is linked to an older OpenSSL has no Argon2. */
const hasArgon = typeof crypto.argon2 === 'function';

interface Hashing {
  readonly head: string;
  derive(password: string, salt: Buffer): Promise<Buffer>;
}

const today: Hashing = hasArgon
  ? argonOf(argon.memory, argon.passes, argon.parallelism)
  : scryptOf(scryptCost.logN, scryptCost.r, scryptCost.p);

/** A hash that may be stored: a PHC string with algorithm, parameters, salt and hash. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  return `${today.head}$${encode(salt)}$${encode(await inTurn(() => today.derive(password, salt)))}`;
}

/** Whether the password is the stored one. Without a stored one the same work is done for "no", so that time tells nothing. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const { hashing, salt, hash } = read(stored ?? (await nobodysPassword()));
  const derived = await inTurn(() => hashing.derive(password, salt));
  return timingSafeEqual(derived, hash) && stored !== undefined;
}

/** Whether it was made with other parameters than today's. */
export function isOutdated(stored: string): boolean {
  return !stored.startsWith(`${today.head}$`);
}

const letters = '23456789abcdefghjkmnpqrstvwxyz';

/** To be typed once: 98 random bits in four groups. */
export function makePassword(): string {
  const group = () => Array.from({ length: 5 }, () => letters.charAt(randomInt(letters.length))).join('');
  return [group(), group(), group(), group()].join('-');
}

let nobody: Promise<string> | undefined;
function nobodysPassword(): Promise<string> {
  nobody ??= hashPassword(randomBytes(32).toString('base64url'));
  return nobody;
}

function argonOf(memory: number, passes: number, parallelism: number): Hashing {
  return {
    head: `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}`,
    derive: (password, nonce) =>
      new Promise((resolve, reject) => {
        const given = { message: normal(password), nonce, memory, passes, parallelism, tagLength: hashBytes };
        crypto.argon2('argon2id', given, (error, hash) => (error ? reject(error) : resolve(hash)));
      }),
  };
}

function scryptOf(logN: number, r: number, p: number): Hashing {
  const N = 2 ** logN;
  return {
    head: `$scrypt$ln=${logN},r=${r},p=${p}`,
    derive: (password, salt) =>
      new Promise((resolve, reject) => {
        const cost = { N, r, p, maxmem: 256 * N * r };
        scrypt(normal(password), salt, hashBytes, cost, (error, hash) => (error ? reject(error) : resolve(hash)));
      }),
  };
}

const argonText = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;
const scryptText = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;

function read(stored: string) {
  const asArgon = argonText.exec(stored);
  const [, one, two, three, salt = '', hash = ''] = asArgon ?? scryptText.exec(stored) ?? [];
  if (hash === '' || (asArgon && !hasArgon))
    throw new FarmError('misconfigured', 'A stored password can not be read by this Node', {
      hint: 'Start the farm with the Node that comes with it, or reset the password.',
    });
  const make = asArgon ? argonOf : scryptOf;
  return {
    hashing: make(Number(one), Number(two), Number(three)),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

/** PHC strings have base64 without padding. */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

/** The same password typed on another keyboard. */
function normal(password: string): Buffer {
  return Buffer.from(password.normalize('NFKC'), 'utf8');
}

let running = 0;
const waiting: (() => void)[] = [];

/** Few at once: each takes memory and a thread that files need, too. Errors: FarmError too_many_requests. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (waiting.length >= limits.passwordChecksWaiting)
    throw new FarmError('too_many_requests', 'Too many logins are being checked', { retryAfterMs: 2_000 });
  if (running >= limits.passwordChecks) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    return await work();
  } finally {
    // The place goes to the next in line, or is free.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
