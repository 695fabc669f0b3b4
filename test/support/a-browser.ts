import { z } from 'zod';
import { csrfHeader, loginPaths, SessionReply } from '#contracts';
import { type Answer, exchange, post } from './a-controller.js';

/** As far as a browser matters to us: it keeps cookies, and follows no redirect by itself. */
export class Browser {
  readonly cookies = new Map<string, string>();
  /** What the last answers wanted to be kept, word by word. */
  readonly setCookies: string[] = [];
  csrf: string | undefined;

  constructor(private readonly url: string) {}

  async fetch(path: string, init: RequestInit = {}, extra: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = new Headers(init.headers);
    if (cookie !== '') headers.set('cookie', cookie);
    for (const [name, value] of Object.entries(extra)) headers.set(name, value);
    const answer = await exchange(`${this.url}${path}`, { ...init, headers, redirect: 'manual' });
    for (const line of answer.headers.getSetCookie()) this.keep(line);
    return answer;
  }

  /** Logs in as a page of the console does. */
  async logIn(name: string, password: string, more: object = {}): Promise<Answer> {
    const answer = await this.fetch(loginPaths.login, post({ name, password, ...more }));
    this.csrf = SessionReply.safeParse(answer.body).data?.csrf_token;
    return answer;
  }

  /** Calls an operation as a page of the console does. */
  call(name: string, input: unknown, extra?: Readonly<Record<string, string>>): Promise<Answer> {
    const token = this.csrf === undefined ? {} : { [csrfHeader]: this.csrf };
    return this.fetch(`/v1/operations/${name}`, post({ input }), extra ?? token);
  }

  /** Sends the form that a page holds, with some of its fields filled in. */
  submit(
    page: Answer,
    fields: Readonly<Record<string, string>>,
    extra?: Readonly<Record<string, string>>,
    path: string = loginPaths.device,
  ) {
    const hidden = page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
    const body = new URLSearchParams({
      ...Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value])),
      ...fields,
    });
    return this.fetch(path, { method: 'POST', body }, extra);
  }

  private keep(line: string): void {
    this.setCookies.push(line);
    const [, name = '', value = ''] = z
      .tuple([z.string(), z.string(), z.string()])
      .parse(/^([^=]+)=([^;]*)/.exec(line));
    if (/max-age=0/i.test(line)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
