import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fetch } from 'undici';
import { z } from 'zod';
import {
  type CredentialFile,
  cliClientId,
  DeviceAuthorization,
  DeviceToken,
  deviceGrant,
  FarmError,
  loginPaths,
  OAuthError,
} from '#contracts';
import { noAnswer, refusal } from './send-json.js';

/** What the person needs to let this command line in, and what comes of it. */
export interface DeviceLogin {
  readonly userCode: string;
  /** Where it is entered; the second has it filled in. */
  readonly page: string;
  readonly completePage: string;
  readonly expiresInSeconds: number;
  /** Errors: FarmError not_allowed when it was denied, timeout when nobody decided. */
  granted(signal: AbortSignal): Promise<CredentialFile>;
}

const longestPauseSeconds = 60;

/** RFC 8628. The key is made here and stays here: what comes back is worth nothing without it. */
export async function beginDeviceLogin(url: string, clientName: string, signal: AbortSignal): Promise<DeviceLogin> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const asked = { client_id: cliClientId, client_name: clientName, public_key: rawPublicKey(privateKey) };
  const { ok, status, text } = await postForm(`${url}${loginPaths.deviceAuthorization}`, asked, signal);
  const begun = DeviceAuthorization.safeParse(parseOr(text));
  if (!ok || !begun.success) throw refusal(status, text);
  const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval } = begun.data;
  return {
    userCode: user_code,
    page: verification_uri,
    completePage: verification_uri_complete,
    expiresInSeconds: expires_in,
    async granted(until) {
      const token = await poll({ url, deviceCode: device_code, seconds: interval, lasts: expires_in }, until);
      return {
        url,
        principal: token.principal,
        farm_id: token.farm_id,
        private_key: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url'),
        session: token.session,
      };
    },
  };
}

interface Polling {
  readonly url: string;
  readonly deviceCode: string;
  /** Between two polls. */
  readonly seconds: number;
  readonly lasts: number;
}

async function poll({ url, deviceCode, seconds, lasts }: Polling, signal: AbortSignal) {
  const asked = { grant_type: deviceGrant, device_code: deviceCode, client_id: cliClientId };
  let wait = seconds;
  for (let waited = wait; waited <= lasts + longestPauseSeconds; waited += wait) {
    await pause(wait * 1000, undefined, { signal });
    const answer = await postForm(`${url}${loginPaths.token}`, asked, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
    if (answer?.ok) return DeviceToken.parse(parseOr(answer.text));
    const refused = answer && OAuthError.safeParse(parseOr(answer.text)).data?.error;
    if (refused === 'access_denied') throw new FarmError('not_allowed', 'The login was denied at the browser.');
    if (refused === 'expired_token') break;
    if (refused !== undefined && refused !== 'authorization_pending' && refused !== 'slow_down')
      throw refusal(answer?.status ?? 400, answer?.text ?? '');
    // No answer, or none that we know: twice as long, as RFC 8628 §3.5 has it.
    if (refused === undefined) wait = Math.min(2 * wait, longestPauseSeconds);
    if (refused === 'slow_down') wait = Math.min(wait + 5, longestPauseSeconds);
  }
  throw new FarmError('timeout', 'Nobody approved the login in time.', { hint: 'Begin again: `longshore login`.' });
}

async function postForm(url: string, fields: Readonly<Record<string, string>>, signal: AbortSignal) {
  try {
    const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), redirect: 'error', signal });
    return { ok: response.ok, status: response.status, text: await response.text() };
  } catch (error) {
    throw signal.aborted ? error : noAnswer(url, error);
  }
}

function rawPublicKey(key: Parameters<typeof createPublicKey>[0]): string {
  return z.object({ x: z.string() }).parse(createPublicKey(key).export({ format: 'jwk' })).x;
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
