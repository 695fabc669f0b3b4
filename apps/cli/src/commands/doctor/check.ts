/** What one check of the doctor found. */
export interface Finding {
  readonly name: string;
  /** broken: the farm does not work here until it is mended. warning: something is missing that is not always needed. */
  readonly state: 'ok' | 'warning' | 'broken';
  readonly found: string;
  /** What to do; absent where nothing is to be done. */
  readonly fix?: string;
}

export const ok = (name: string, found: string): Finding => ({ name, state: 'ok', found });
export const warning = (name: string, found: string, fix: string): Finding => ({ name, state: 'warning', found, fix });
export const broken = (name: string, found: string, fix: string): Finding => ({ name, state: 'broken', found, fix });
