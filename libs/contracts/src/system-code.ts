/**
 * The code of a system error (`ENOENT`), or of anything else that carries one. Told by the code and not by `instanceof`: an error of
 * Node's core is no `Error` of the realm that a test runs in.
 */
export function systemCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
