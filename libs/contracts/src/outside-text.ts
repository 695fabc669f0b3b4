import { z } from 'zod';

/** Beside the schemas and not in them: the mark is not published. */
const marks = z.registry<{ readonly outside: true }>();

/**
 * Marks text that comes from outside the system: people, agents, machines, repositories and commands wrote it. Every string at or
 * below the marked schema counts. Towards agents it is fenced and labelled as data (A8.5); command line and console get it raw.
 * For outputs. Mark the texts and not what holds them: kinds and ids beside them stay readable. Answers a copy: a schema that others use stays unmarked.
 */
export function outsideText<Schema extends z.ZodType>(schema: Schema): Schema {
  const copy = schema.clone(schema.def);
  mark(copy);
  return copy;
}

function mark(schema: z.ZodType): void {
  marks.add(schema, { outside: true });
}

export function isOutsideText(schema: z.core.$ZodType): boolean {
  return marks.get(schema) !== undefined;
}
