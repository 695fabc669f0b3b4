import { Algorithms, encodeAccount, encodeOperator, encodeUser, fmtCreds } from '@nats-io/jwt';
import { createAccount, createOperator, createUser } from '@nats-io/nkeys';
import { z } from 'zod';
import { readPrivateJson, writePrivateJson } from './private-file.js';

/** What a farm's nats-server trusts, and what our controllers sign and connect with. */
export const NatsKeys = z.strictObject({
  operatorJwt: z.string(),
  accountJwt: z.string(),
  accountPublicKey: z.string(),
  /** Signs the short-lived users of workers. */
  accountSeed: z.string(),
  /** The controllers' own user, as the text of a creds file: publishes and hears every bell. */
  controllerCreds: z.string(),
});
export type NatsKeys = Readonly<z.infer<typeof NatsKeys>>;

/** Reads the keys, or makes them once. The operator signs one account and its seed is forgotten: nobody can add another. */
export async function natsKeys(path: string): Promise<NatsKeys> {
  const known = await readPrivateJson(path, NatsKeys);
  if (known !== undefined) return known;
  const made = await makeKeys();
  await writePrivateJson(path, made);
  return made;
}

const algorithm = { algorithm: Algorithms.v2 };
const everyBell = ['bell.>', '_INBOX.>'];

async function makeKeys(): Promise<NatsKeys> {
  const operator = createOperator();
  const account = createAccount();
  const controller = createUser();
  const permissions = { pub: { allow: everyBell, deny: [] }, sub: { allow: everyBell, deny: [] } };
  const controllerJwt = await encodeUser('controller', controller, account, permissions, algorithm);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return {
    operatorJwt: await encodeOperator('longshore', operator, {}, algorithm),
    // No JetStream and no leaf nodes among the limits: what is not granted is not there.
    accountJwt: await encodeAccount('farm', account, accountClaims, { ...algorithm, signer: operator }),
    accountPublicKey: account.getPublicKey(),
    accountSeed: text(account.getSeed()),
    controllerCreds: text(fmtCreds(controllerJwt, controller)),
  };
}

const accountClaims = {
  limits: { subs: -1, data: -1, payload: -1, imports: 0, exports: 0, wildcards: false, conn: -1, leaf: 0 },
};
