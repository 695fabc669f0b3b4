import type { FarmErrorCode } from './errors.js';

/**
 * `type` of a problem (RFC 9457): one path per code, the same on every farm, under which the farm that answered says what it
 * means.
 */
export const problemTypes = {
  path: '/problems',
  of: (code: FarmErrorCode): string => `/problems/${code}`,
} as const;
