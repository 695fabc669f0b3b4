import { FarmError } from '#contracts';

type Limits = { usd?: number; tokens?: number; requests?: number };

const form =
  /^(?:\$(?<dollars>\d+(?:\.\d+)?)|(?<usd>\d+(?:\.\d+)?)usd|(?<count>\d+(?:\.\d+)?)(?<factor>[km]?)(?<unit>tokens|requests))$/;

/**
 * `--budget 5usd`, `$5`, `2Mtokens`, `200requests`; several with commas or by repeating. FarmError invalid_input.
 */
export function readBudget(given: readonly string[]): Limits | undefined {
  const limits: Limits = {};
  for (const part of given.flatMap((one) => one.split(','))) {
    const { dollars, usd = dollars, count, factor, unit } = form.exec(part.trim().toLowerCase())?.groups ?? {};
    const kind = usd === undefined ? unit : 'usd';
    if (kind !== 'usd' && kind !== 'tokens' && kind !== 'requests') throw notABudget();
    if (limits[kind] !== undefined)
      throw new FarmError('invalid_input', `--budget names ${kind} twice.`, { hint: 'Give each limit once.' });
    limits[kind] = usd === undefined ? Math.round(Number(count) * factorOf(factor)) : Number(usd);
  }
  return given.length === 0 ? undefined : limits;
}

function factorOf(letter: string | undefined): number {
  if (letter === 'm') return 1e6;
  return letter === '' || letter === undefined ? 1 : 1e3;
}

function notABudget(): FarmError {
  return new FarmError('invalid_input', '--budget is no budget.', {
    hint: 'Its forms are 5usd, 2000000tokens or 2Mtokens, and 200requests; several with commas.',
  });
}
