import { FarmError } from '#contracts';

/** What a command shows the farm with each call. */
export interface Bearer {
  get(): Promise<string>;
  /** Another one, because the farm did not take the last. Errors: RemoteError of the farm, FarmError when there is none. */
  renew(): Promise<string>;
}

/** A script's service token: there is one, and it does not change. */
export function serviceBearer(token: string): Bearer {
  return {
    get: () => Promise.resolve(token),
    renew: () =>
      Promise.reject(
        new FarmError('unauthenticated', 'The farm does not take the token in LONGSHORE_TOKEN.', {
          hint: 'It was revoked, has ended, or is for MCP: longshore service-token create <name> --role <role> makes another.',
        }),
      ),
  };
}
