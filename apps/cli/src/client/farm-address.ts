import { FarmError } from '#contracts';

/** Origin of a farm as a person names it. Errors: FarmError invalid_input. */
export function farmAddress(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '')
    return url.origin;
  throw new FarmError('invalid_input', 'The address is not one of a farm.', {
    hint: 'Its form is http://127.0.0.1:4180 or https://farm.example.org, without user and password.',
  });
}

/** Whether what is sent there can be read on the way. */
export function isOpenRoad(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
