export { errorCodes, exitCodeOf, FarmError, isFarmErrorCode } from './errors.js';
export type { FarmErrorCode, FieldError, WhoActs } from './errors.js';
export { limits } from './limits.js';
