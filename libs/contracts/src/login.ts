import { z } from 'zod';
import { PublicKey } from './identity.js';
import { PersonId, SessionId } from './ids.js';
import { limits } from './limits.js';
import { NewPassword, RoleName } from './persons.js';
import { storable } from './text.js';

/**
 * How people log in. These are no operations: authentication stands before the gate.
 *
 *  POST /auth/login                  ← LoginRequest      → SessionReply and the session's cookie
 *  POST /auth/password               ← PasswordRequest   → 204; every session of the person is over
 *  GET  /auth/session                                    → SessionReply of the cookie's session
 *  POST /auth/logout                 with the CSRF token → 204
 *  POST /oauth/device_authorization  a form              → DeviceAuthorization (RFC 8628)
 *  POST /oauth/token                 a form or JSON      → DeviceToken, an agent's token, or OAuthError with status 400 or 401
 *  GET  /device                      the page where a person enters the code and approves
 */
export const loginPaths = {
  login: '/auth/login',
  password: '/auth/password',
  session: '/auth/session',
  logout: '/auth/logout',
  deviceAuthorization: '/oauth/device_authorization',
  token: '/oauth/token',
  device: '/device',
} as const;

/** With each call by a session's cookie that is no GET: its value is in SessionReply. */
export const csrfHeader = 'longshore-csrf';

/** Our own client of the device flow. */
export const cliClientId = 'longshore-cli';
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

const Credentials = {
  /** Any text: a name that can not be is answered like one that is not there. */
  name: storable(256),
  password: storable(limits.passwordBytes),
};

export const LoginRequest = z.strictObject({
  ...Credentials,
  /** Where the password is one for setup: the one to have from now on. */
  new_password: NewPassword.optional(),
});

export const PasswordRequest = z.strictObject({ ...Credentials, new_password: NewPassword });

export const SessionReply = z.strictObject({
  person: z.strictObject({ id: PersonId, name: z.string(), role: RoleName }),
  session_id: SessionId,
  csrf_token: z.string(),
  /** Whatever is done with it; without a call it ends sooner. */
  expires_at: z.string(),
});
export type SessionReply = z.output<typeof SessionReply>;

/** Of RFC 8628 §3.1, with the key that this client will sign challenges with, so that nothing worth stealing comes back. */
export const DeviceAuthorizationRequest = z.object({
  client_id: z.literal(cliClientId),
  /** What the person is shown: the name of the machine. */
  client_name: storable(128).default(''),
  public_key: PublicKey,
});

/** RFC 8628 §3.2. */
export const DeviceAuthorization = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.int(),
  interval: z.int(),
});

/** RFC 8628 §3.4. */
export const DeviceTokenRequest = z.object({
  grant_type: z.string(),
  device_code: z.string().max(256),
  client_id: z.literal(cliClientId),
});

/** RFC 6749 §5.1, with what the credential file holds. */
export const DeviceToken = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  principal: PersonId,
  session: SessionId,
  farm_id: z.string(),
});

/** RFC 6749 §5.2 and RFC 8628 §3.5. */
export const OAuthError = z.object({
  error: z.enum([
    'invalid_request',
    'invalid_client',
    'invalid_grant',
    'unsupported_grant_type',
    'invalid_target',
    'authorization_pending',
    'slow_down',
    'access_denied',
    'expired_token',
  ]),
});
export type OAuthErrorCode = z.output<typeof OAuthError>['error'];
