/** Removes secrets from what a provider says (H35). What is shorter than a secret can be would tear words apart. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const worth = secrets.filter((secret) => secret.length >= 8).sort((a, b) => b.length - a.length);
  return (text) => worth.reduce((left, secret) => left.replaceAll(secret, '***'), text);
}
