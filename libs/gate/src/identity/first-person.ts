import { join } from 'node:path';
import { CredentialFile, newPersonId } from '#contracts';
import type { Database } from '#store';
import { newPrivateKey, privateKeyOf, rawPublicKey } from '../keys/ed25519.js';
import { readPrivateJson, replacePrivateJson } from '../keys/private-json.js';
import { gateSql } from '../sql/gate.js';
import { loginSql } from '../sql/login.js';
import { hashPassword, makePassword } from './passwords.js';

interface FirstPerson {
  /** Data folder of the controller. */
  readonly folder: string;
  readonly farmId: string;
  readonly url: string;
  /** Somebody is there who shows a password to a person and keeps it nowhere. */
  readonly tellsPassword?: boolean | undefined;
}

export interface FirstAdmin {
  readonly name: string;
  /** Never told again: only its hash is kept. */
  readonly password: string;
}

/**
 * A farm without people gets its first admin, whose credential lies in `<data>/credential.json`, 0600. Later starts keep the
 * address in that file true. Answers the password of an admin who was made just now, where it will be told.
 */
export async function ensureFirstPerson(
  database: Database,
  { folder, farmId, url, tellsPassword = false }: FirstPerson,
): Promise<FirstAdmin | undefined> {
  const path = join(folder, 'credential.json');
  const admin = await database.transaction(async (tx) => {
    await tx.run(gateSql.lockFirstPerson);
    if (await tx.first(gateSql.anyPerson)) return undefined;
    const privateKey = newPrivateKey();
    const id = newPersonId();
    // Written before the commit: a file without its person is replaced at the next start, a person without file could not come in.
    await replacePrivateJson(path, { url, principal: id, farm_id: farmId, private_key: privateKey });
    await tx.run(gateSql.insertPerson, {
      id,
      name: 'admin',
      role: 'admin',
      public_key: rawPublicKey(privateKeyOf(privateKey)),
    });
    if (!tellsPassword) return undefined;
    const password = makePassword();
    await tx.run(loginSql.setOwnPassword, { person: id, hash: await hashPassword(password) });
    return { name: 'admin', password };
  });
  const known = await readPrivateJson(path, CredentialFile);
  if (known && known.farm_id === farmId && known.url !== url) await replacePrivateJson(path, { ...known, url });
  return admin;
}
