import { createPublicKey, verify } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { z } from 'zod';
import { Challenge, EnrolReply, type EnrolRequest, FarmError, identityPaths } from '#contracts';
import { ask, jsonOf } from '../controller/ask.js';
import { untilAnswered } from '../controller/until-answered.js';
import { type EnrolledIdentity, type Identity, signWith, writeIdentity } from './identity-file.js';
import { fingerprintOf, type JoinTicket } from './join-ticket.js';

interface Enrolment {
  readonly identity: Identity;
  readonly path: string;
  readonly ticket: JoinTicket;
  readonly name: string;
  readonly host: string;
  readonly dispatcher: Dispatcher;
  /** Told each time that the farm has given no decision and is asked again. */
  readonly onAgain?: (error: FarmError) => void;
}

/**
 * Joins the farm: once per key, and the same again after a lost answer is the same enrolment (H36). The key is on disk before
 * anything is sent, so a crash in between joins with the same one. The ticket leaves this machine only for a controller that
 * shows the key which the ticket names.
 *
 * @throws FarmError `wrong_fingerprint` · `ticket_invalid`
 */
export async function enrol(wanted: Enrolment): Promise<EnrolledIdentity> {
  const { identity, path, ticket, onAgain } = wanted;
  await writeIdentity(path, identity);
  const enrolled = await untilAnswered(() => sendEnrolment(wanted), onAgain === undefined ? {} : { onAgain });
  if (enrolled.fingerprint !== ticket.fingerprint) throw wrongFingerprint();
  const done = { ...identity, enrolled };
  await writeIdentity(path, done);
  return done;
}

async function sendEnrolment({
  identity,
  ticket,
  name,
  host,
  dispatcher,
}: Enrolment): Promise<z.output<typeof EnrolReply>> {
  const shown = await askChallenge(identity.url, dispatcher);
  if (!isOfKey(shown, ticket.fingerprint)) throw wrongFingerprint();
  const { challenge } = shown;
  const body: EnrolRequest = {
    ticket: ticket.text,
    public_key: identity.public_key,
    challenge,
    signature: signWith(identity, `enrol\n${challenge}\n${ticket.text}`),
    name,
    host,
  };
  const answer = await ask({
    method: 'POST',
    url: at(identity, identityPaths.enrol),
    dispatcher,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    timeoutMs: 10_000,
  });
  const reply = EnrolReply.safeParse(await jsonOf(answer));
  if (reply.success) return reply.data;
  throw new FarmError('invalid_output', 'The answer to the enrolment does not fit its contract.');
}

/** The controller holds the key that the ticket names: it signed this very challenge (H36). */
function isOfKey(shown: Shown, fingerprint: string): boolean {
  if (fingerprintOf(shown.controller_key) !== fingerprint) return false;
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: shown.controller_key }, format: 'jwk' });
  const text = Buffer.from(`challenge\n${shown.challenge}`);
  return verify(null, text, key, Buffer.from(shown.signature, 'base64url'));
}

type Shown = z.output<typeof Challenge>;

export async function askChallenge(url: string, dispatcher: Dispatcher): Promise<Shown> {
  const answer = await ask({
    method: 'GET',
    url: new URL(identityPaths.challenge, url).href,
    dispatcher,
    timeoutMs: 10_000,
  });
  const challenge = Challenge.safeParse(await jsonOf(answer));
  if (challenge.success) return challenge.data;
  throw new FarmError('invalid_output', 'The controller gives no challenge.');
}

const at = (identity: Identity, path: string): string => new URL(path, identity.url).href;

function wrongFingerprint(): FarmError {
  return new FarmError('wrong_fingerprint', 'The controller at this address shows another key than the ticket names.', {
    hint: 'Check the address; if it is right, somebody may stand in between. The ticket was not sent.',
  });
}
