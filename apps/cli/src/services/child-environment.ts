/** What a service may see of our environment: where programs are and how text is written, no credential. */
const allowed = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'LC_ALL', 'TZ', 'SystemRoot'];

export function childEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    allowed.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
