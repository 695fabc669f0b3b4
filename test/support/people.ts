import { randomUUID } from 'node:crypto';
import { loginPaths, personCreate } from '#contracts';
import { Browser } from './a-browser.js';
import { post, type TestController } from './a-controller.js';

export const goodPassword = 'correct horse battery';

export interface TestPerson {
  readonly id: string;
  readonly name: string;
  readonly password: string;
  /** A browser that is logged in, at this controller or another. */
  browser(url?: string): Promise<Browser>;
}

/** A person who has chosen a password. */
export async function aPerson(farm: TestController, role: 'viewer' | 'operator' | 'admin'): Promise<TestPerson> {
  const name = `${role}-${randomUUID().slice(0, 8)}`;
  const made = await farm.admin.call(personCreate, { name, role });
  const chosen = { name, password: made.setup_password, new_password: goodPassword };
  const answer = await farm.fetch(loginPaths.password, post(chosen));
  if (answer.status !== 204) throw new Error(`the password was not taken: ${answer.text}`);
  return {
    id: made.person_id,
    name,
    password: goodPassword,
    async browser(url = farm.url) {
      const browser = new Browser(url);
      const { status, text } = await browser.logIn(name, goodPassword);
      if (status !== 200) throw new Error(`not logged in: ${text}`);
      return browser;
    },
  };
}
