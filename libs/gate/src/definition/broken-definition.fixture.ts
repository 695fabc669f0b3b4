import { z } from 'zod';
import { contract } from '#contracts';
import { operationFor } from '../operation.js';

/** A module with a broken definition, to be imported by a test. */
export const broken = operationFor<object>()(
  contract({ name: 'QueueList', summary: 'Broken.', input: z.strictObject({}), output: z.strictObject({}) }),
  { catalogue: 'operator', class: 'read', ceiling: 'on' },
  { run: async () => ({}) },
);
