import { z } from 'zod';
import type { Contract } from '#contracts';

/** One input field as the command line takes it. Fields of another shape come with `--input`. */
export interface ArgumentField {
  readonly name: string;
  /** `--task-id` without the hyphens in front; positional fields go without a flag. */
  readonly flag: string;
  readonly shape: 'text' | 'number' | 'boolean' | 'list';
  readonly choices?: readonly string[];
  /** The word `none` stands for null. */
  readonly nullable: boolean;
  readonly required: boolean;
}

const Shape = z.looseObject({
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  items: z.looseObject({ type: z.string().optional(), enum: z.array(z.string()).optional() }).optional(),
  anyOf: z.array(z.looseObject({ type: z.string().optional() })).optional(),
});
type Shape = z.output<typeof Shape>;
const Document = z.looseObject({
  properties: z.record(z.string(), Shape).default({}),
  required: z.array(z.string()).default([]),
});

/** The fields of a contract's input, from the same schema that OpenAPI is made of. */
export function argumentFields(contract: Pick<Contract, 'input'>): readonly ArgumentField[] {
  const schema = z.toJSONSchema(contract.input, { io: 'input', target: 'draft-2020-12', unrepresentable: 'any' });
  const { properties, required } = Document.parse(schema);
  return Object.entries(properties).flatMap(([name, property]) => {
    const shape = shapeOf(property);
    if (shape === undefined) return [];
    return [{ name, flag: name.replaceAll('_', '-'), required: required.includes(name), ...shape }];
  });
}

function shapeOf(property: Shape): Pick<ArgumentField, 'shape' | 'choices' | 'nullable'> | undefined {
  const { anyOf } = property;
  if (anyOf !== undefined) {
    const [other, ...more] = anyOf.filter((part) => part.type !== 'null');
    const only =
      more.length === 0 && other !== undefined && other.anyOf === undefined ? shapeOf(Shape.parse(other)) : undefined;
    return only && { ...only, nullable: true };
  }
  const choices = property.enum ?? property.items?.enum;
  const extra = { ...(choices && { choices }), nullable: false };
  if (property.type === 'string') return { shape: 'text', ...extra };
  if (property.type === 'integer' || property.type === 'number') return { shape: 'number', ...extra };
  if (property.type === 'boolean') return { shape: 'boolean', ...extra };
  if (property.type === 'array' && property.items?.type === 'string') return { shape: 'list', ...extra };
  return undefined;
}
