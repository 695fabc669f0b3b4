import type { FastifyInstance } from 'fastify';
import { FarmError } from '#contracts';
import { readFarm } from '#store';
import type { Services } from '../../farm.js';

/** For supervisors: the process lives; it can serve; its counts. */
export function healthRoutes(scope: FastifyInstance, { database, metrics }: Services): void {
  scope.get('/healthz', async () => ({ status: 'ok' }));

  scope.get('/readyz', async () => {
    const farm = await readFarm(database).catch((cause: unknown) => {
      throw new FarmError('unavailable', 'The database does not answer', { cause });
    });
    return { status: 'ready', farm_id: farm.id };
  });

  scope.get('/metrics', async (_request, reply) => {
    reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    return metrics.print();
  });
}
