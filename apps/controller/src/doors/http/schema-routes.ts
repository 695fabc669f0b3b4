import type { FastifyInstance } from 'fastify';
import { workflowSchema, workflowSchemaPath } from '#contracts';

const schema = JSON.stringify(workflowSchema());

/** The schema of workflow documents: for editors, which bring no credential. It holds nothing of the farm. */
export function schemaRoutes(scope: FastifyInstance): void {
  scope.get(workflowSchemaPath, (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=3600')
      .header('content-type', 'application/schema+json; charset=utf-8')
      .send(schema),
  );
}
