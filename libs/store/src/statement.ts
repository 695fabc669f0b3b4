/**
 * One hand-written SQL statement. `Row` is what it returns; the text names its parameters (`$job_id`), so that a call can
 * not swap two. The name is also the name of the prepared statement: it must be unique in a process.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  readonly parameters: readonly string[];
  /** Never read: carries the row's type. */
  readonly row?: Row;
}

const parameter = /\$([a-z][a-z0-9_]*)/g;

/** States a statement: `$name` becomes a numbered parameter. */
export function statement<Row>(name: string, text: string): Statement<Row> {
  const parameters: string[] = [];
  const numbered = text.replace(parameter, (_, found: string) => {
    if (!parameters.includes(found)) parameters.push(found);
    return `$${parameters.indexOf(found) + 1}`;
  });
  return { name, text: numbered.trim(), parameters };
}

export type Parameters = Readonly<Record<string, unknown>>;

/** The values in the statement's order. A parameter that is not given is a fault of ours, not null. */
export function valuesOf(stated: Statement<unknown>, given: Parameters): readonly unknown[] {
  return stated.parameters.map((name) => {
    const value = given[name];
    if (value === undefined) throw new TypeError(`statement ${stated.name}: no value for $${name}`);
    return value;
  });
}
