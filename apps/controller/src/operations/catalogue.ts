import type { Operation } from '#gate';
import type { Services } from '../farm.js';
import { adminOperations } from './admin/index.js';
import { jobOperations } from './job/index.js';
import { memberOperations } from './member/index.js';
import { operatorOperations } from './operator/index.js';

/** Everything anyone can do. Importing this file checks every definition (A2.0). */
export const operations: readonly Operation<Services>[] = [
  ...jobOperations,
  ...memberOperations,
  ...operatorOperations,
  ...adminOperations,
];
