import { readFileSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CredentialFile, workerList } from '#contracts';
import { type AnsweringFarm, anAnsweringFarm } from '../../../../test/support/answering-farm.js';
import { RemoteError } from '../output/failure.js';
import { personClient } from './farm-client.js';
import { PersonToken } from './person-token.js';
import { type SendJson, sendJson } from './send-json.js';

let farm: AnsweringFarm;
beforeEach(async () => {
  farm = await anAnsweringFarm(() => ({ json: { result: { workers: [] } } }));
});
afterEach(() => farm.close());

const credential = () => CredentialFile.parse(JSON.parse(readFileSync(farm.credential, 'utf8')));
const kept = () => farm.credential.replace('.json', '.token.json');

describe("a person's token", () => {
  it('is asked for once by signing a challenge, and kept for its owner alone until it ends', async () => {
    let now = Date.now();
    const token = () => new PersonToken(credential(), farm.credential, sendJson(), () => now);
    expect(await token().get()).toBe('token-1');
    expect(await token().get()).toBe('token-1');
    expect(statSync(kept()).mode & 0o777).toBe(0o600);
    now += 3_571_000;
    expect(await token().get()).toBe('token-2');
  });

  it('is not used for another farm or another person', async () => {
    const here = credential();
    await new PersonToken(here, farm.credential, sendJson()).get();
    await new PersonToken({ ...here, principal: 'p_11111111' }, farm.credential, sendJson()).get();
    expect(farm.tokens).toBe(2);
  });

  it('says how to log in again where the farm no longer takes a login', async () => {
    const refusing: SendJson = async (method, to) => {
      if (method === 'GET') return await sendJson()(method, to);
      throw new RemoteError({ type: 'x', title: 'x', status: 401, code: 'unauthenticated' });
    };
    const over = new PersonToken({ ...credential(), session: 's_00000000' }, farm.credential, refusing);
    await expect(over.get()).rejects.toMatchObject({
      problem: { code: 'unauthenticated', hint: `Log in again: longshore login ${credential().url}` },
    });
  });

  it('is asked for again, once, when the farm no longer knows it', async () => {
    const client = personClient(credential(), farm.credential);
    await client.call(workerList, {});
    farm.forgetTokens();
    await expect(client.call(workerList, {})).resolves.toEqual({ workers: [] });
    expect(farm.tokens).toBe(2);
    await client.close();
  });
});
