import { join } from 'node:path';
import { CredentialFile, newPersonId } from '#contracts';
import type { Database } from '#store';
import { newPrivateKey, privateKeyOf, rawPublicKey } from '../keys/ed25519.js';
import { readPrivateJson, replacePrivateJson } from '../keys/private-json.js';
import { gateSql } from '../sql.js';

interface FirstPerson {
  /** Data folder of the controller. */
  readonly folder: string;
  readonly farmId: string;
  readonly url: string;
}

/**
 * A farm without people gets its first admin, whose credential lies in `<data>/credential.json`, 0600. Later starts keep the
 * address in that file true. Answers the file's path.
 */
export async function ensureFirstPerson(database: Database, { folder, farmId, url }: FirstPerson): Promise<string> {
  const path = join(folder, 'credential.json');
  await database.transaction(async (tx) => {
    await tx.run(gateSql.lockFirstPerson);
    if (await tx.first(gateSql.anyPerson)) return;
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
  });
  const known = await readPrivateJson(path, CredentialFile);
  if (known && known.farm_id === farmId && known.url !== url) await replacePrivateJson(path, { ...known, url });
  return path;
}
