import { type Html, hidden, html, page } from '../page.js';

interface Shown {
  readonly csrf: string;
  readonly userCode: string;
  readonly note?: string | undefined;
}

interface LoginShown {
  readonly csrf: string;
  /** Where the form goes. */
  readonly action: string;
  /** What the page must be told again with it. */
  readonly kept: Readonly<Record<string, string>>;
  readonly note?: string | undefined;
  readonly name: string;
  readonly choosing: boolean;
}

/** Name and password, and a new one where the old is for setup. */
export function loginPage({ csrf, action, kept, note, name, choosing }: LoginShown): string {
  const choose = choosing
    ? html`<label>New password<input type="password" name="new_password" autocomplete="new-password" required></label>`
    : undefined;
  return page(
    'Log in',
    note,
    html`<form method="post" action="${action}">${hidden('csrf', csrf)}${Object.entries(kept).map(([key, value]) => hidden(key, value))}
<label>Name<input name="name" value="${name}" autocomplete="username" autocapitalize="none" required autofocus></label>
<label>${choosing ? 'Setup password' : 'Password'}<input type="password" name="password" autocomplete="current-password" required></label>
${choose}<button name="action" value="login">Log in</button></form>`,
  );
}

/** The code that the command line shows. */
export function codePage({ csrf, userCode, note, person }: Shown & { person: string }): string {
  return page(
    'Let a command line in',
    note,
    html`<form method="get" action="/device">
<label>The code that it shows<input name="user_code" value="${userCode}" autocomplete="off" autocapitalize="characters" required autofocus></label>
<button>Go on</button></form>${leaving(csrf, person)}`,
  );
}

export interface Asking {
  readonly client: string;
  readonly address: string;
  readonly minutes: number;
  readonly person: string;
  readonly role: string;
}

/** What is being let in, for the person to decide. */
export function approvalPage({ csrf, userCode, note, ...asking }: Shown & Asking): string {
  const { client, address, minutes, person, role } = asking;
  return page(
    'Let this command line in?',
    note,
    html`<p>It will act as you until you log it out. Approve only what you have started yourself a moment ago.</p>
<dl><dt>Machine</dt><dd>${client === '' ? 'unnamed' : client}</dd><dt>Address</dt><dd>${address}</dd>
<dt>Asked</dt><dd>${minutes < 1 ? 'just now' : `${minutes} min ago`}</dd><dt>Code</dt><dd>${userCode}</dd>
<dt>As</dt><dd>${person} (${role})</dd></dl>
<form method="post" action="/device">${hidden('csrf', csrf)}${hidden('user_code', userCode)}
<button name="action" value="approve">Approve</button><button name="action" value="deny">Deny</button></form>${leaving(csrf, person)}`,
  );
}

export function donePage(note: string): string {
  return page('Done', note, html`<p>You can close this page.</p>`);
}

/** Where there is no form to show again. */
export function refusedPage(note: string): string {
  return page('This did not work', note, html`<p><a href="/device">Begin again</a></p>`);
}

function leaving(csrf: string, person: string): Html {
  return html`<form method="post" action="/device">${hidden('csrf', csrf)}<p>You are ${person}.
<button name="action" value="logout">Log out</button></p></form>`;
}
