import { z } from 'zod';
import type { Contract } from '#contracts';

/** One input field as the command line takes it. Fields of another shape come with `--input`. */
export interface ArgumentField {
  readonly name: string;
  /** What it is, in the contract's words. */
  readonly about: string;
  /** `--task-id` without the hyphens in front; positional fields go without a flag. */
  readonly flag: string;
  readonly shape: 'text' | 'number' | 'boolean' | 'list';
  readonly choices?: readonly string[];
  /** The word `none` stands for null. */
  readonly nullable: boolean;
  readonly required: boolean;
  /** What the farm takes where nothing is given, if it is a word or a number. */
  readonly preset?: string | number;
}

/** One that fits in no word. */
export type DocumentField = Pick<ArgumentField, 'name' | 'about'>;

const Type = z.union([z.string(), z.array(z.string())]);
const Shape = z.looseObject({
  type: Type.optional(),
  description: z.string().default(''),
  default: z.unknown().optional(),
  enum: z.array(z.string()).optional(),
  items: z.looseObject({ type: Type.optional(), enum: z.array(z.string()).optional() }).optional(),
  anyOf: z.array(z.looseObject({ type: Type.optional() })).optional(),
});
type Shape = z.output<typeof Shape>;
const Document = z.looseObject({
  properties: z.record(z.string(), Shape).default({}),
  required: z.array(z.string()).default([]),
});

/** The fields of a contract's input, from the same schema that OpenAPI is made of. */
export function argumentFields(contract: Pick<Contract, 'input'>): readonly ArgumentField[] {
  const { properties, required } = documentOf(contract);
  return Object.entries(properties).flatMap(([name, property]) => {
    const shape = shapeOf(property);
    if (shape === undefined) return [];
    const { description: about, default: preset } = property;
    const isWord = typeof preset === 'string' || typeof preset === 'number';
    const field = { name, about, flag: name.replaceAll('_', '-'), required: required.includes(name), ...shape };
    return [{ ...field, ...(isWord && { preset }) }];
  });
}

/** The fields that fit in no word: they come with `--input` alone. */
export function documentFields(contract: Pick<Contract, 'input'>): readonly DocumentField[] {
  return Object.entries(documentOf(contract).properties).flatMap(([name, property]) =>
    shapeOf(property) === undefined ? [{ name, about: property.description }] : [],
  );
}

const documentOf = ({ input }: Pick<Contract, 'input'>) =>
  Document.parse(z.toJSONSchema(input, { io: 'input', target: 'draft-2020-12', unrepresentable: 'any' }));

type FieldShape = Pick<ArgumentField, 'shape' | 'choices' | 'nullable'>;

function shapeOf(property: Shape): FieldShape | undefined {
  const { type, anyOf } = property;
  if (anyOf !== undefined) return onlyShape(anyOf.map((part) => Shape.parse(part)));
  if (Array.isArray(type)) return onlyShape(type.map((one) => ({ ...property, type: one })));
  const choices = property.enum ?? property.items?.enum;
  const extra = { ...(choices && { choices }), nullable: false };
  if (type === 'string') return { shape: 'text', ...extra };
  if (type === 'integer' || type === 'number') return { shape: 'number', ...extra };
  if (type === 'boolean') return { shape: 'boolean', ...extra };
  if (type === 'array' && property.items?.type === 'string') return { shape: 'list', ...extra };
  return undefined;
}

/** "This or null" fits in a word, "this or that" does not. */
function onlyShape(parts: readonly Shape[]): FieldShape | undefined {
  const others = parts.filter((part) => part.type !== 'null');
  const [other] = others;
  const only = other === undefined || others.length > 1 ? undefined : shapeOf(other);
  return only && { ...only, nullable: others.length < parts.length };
}
