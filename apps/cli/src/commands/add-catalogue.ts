import { Argument, type Command, Option } from 'commander';
import { commandWords } from '../arguments/command-words.js';
import { type ArgumentField, argumentFields, type DocumentField, documentFields } from '../arguments/fields.js';
import { readInput } from '../arguments/read-input.js';
import { type CatalogueEntry, catalogue } from '../catalogue.js';
import { drawAnswer } from '../output/draw-answer.js';
import { commandAt, type Frame, runs } from './frame.js';
import { readDocument } from './read-document.js';

type Options = Readonly<Record<string, unknown>>;

/** One command for each entry of the catalogue, its arguments from the contract's own schema (A9.1, A9.2). */
export function addCatalogue(program: Command, frame: Frame): void {
  for (const entry of catalogue) addEntry(program, frame, entry);
}

export function addEntry(program: Command, frame: Frame, { contract, changes, columns }: CatalogueEntry): void {
  const fields = argumentFields(contract);
  const positional = contract.positional.flatMap((name) => fields.filter((field) => field.name === name));
  const flagged = fields.filter((field) => !contract.positional.includes(field.name));
  const command = commandAt(program, commandWords(contract)).description(contract.summary);
  // Optional for commander: they may come with --input, and the schema tells what is missing.
  for (const field of positional) command.addArgument(argumentOf(field));
  for (const field of flagged) command.addOption(optionOf(field));
  const others = documentFields(contract);
  if (fields.length + others.length > 0) command.option('--input <file>', aboutInput(others));
  if (changes) {
    command.option('--yes', 'do it also where it would first only say what it would do (exit code 5)');
    command.option('--idempotency-key <key>', 'repeating the call with this key is no second act');
  }
  runs<Options>(command, frame, async (run, options, args) => {
    const given = {
      ...Object.fromEntries(flagged.map((field) => [field.name, options[optionOf(field).attributeName()]])),
      ...Object.fromEntries(positional.map((field, at) => [field.name, args[at]])),
    };
    const whole = await readDocument(options.input, run.surroundings);
    const input = readInput(contract, fields, given, whole);
    const { idempotencyKey } = options;
    const answer = await (await run.client()).call(contract, input, {
      confirm: options.yes === true,
      ...(typeof idempotencyKey === 'string' && { idempotencyKey }),
      signal: run.surroundings.signal,
    });
    run.screen.answer(answer);
    run.screen.show(drawAnswer(answer, run.screen.paint, columns));
  });
}

function argumentOf(field: ArgumentField): Argument {
  const { name, choices, nullable } = field;
  const argument = new Argument(`[${name}]`, aboutOf(field));
  return choices === undefined ? argument : argument.choices(orNone(choices, nullable));
}

function aboutInput(others: readonly DocumentField[]): string {
  const only = others.map(({ name, about }) => (about === '' ? name : `${name} (${about})`)).join(', ');
  return `the whole input as JSON from a file, or \`-\` for stdin${only === '' ? '' : `; only there: ${only}`}`;
}

const orNone = (choices: readonly string[], nullable: boolean) => (nullable ? [...choices, 'none'] : [...choices]);

function aboutOf(field: ArgumentField): string {
  const notes = [
    field.required ? 'required' : '',
    field.shape === 'list' ? 'repeatable' : '',
    field.nullable ? '`none` for no value' : '',
    field.preset === undefined ? '' : `default: ${field.preset}`,
  ].filter((note) => note !== '');
  const { about } = field;
  if (about === '' || notes.length === 0) return about || notes.join(', ');
  return `${about} (${notes.join(', ')})`;
}

function optionOf(field: ArgumentField): Option {
  const about = aboutOf(field);
  if (field.shape === 'boolean') return new Option(`--${field.flag}`, about);
  const option = new Option(`--${field.flag} <${field.shape === 'list' ? 'value' : field.shape}>`, about);
  if (field.shape === 'list') {
    return option.argParser<readonly string[]>((value, earlier = []) => [...earlier, value]);
  }
  return field.choices === undefined ? option : option.choices(orNone(field.choices, field.nullable));
}
