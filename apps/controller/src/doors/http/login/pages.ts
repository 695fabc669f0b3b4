import { createHash } from 'node:crypto';

/** Text of an HTML page whose values are escaped. */
class Html {
  constructor(readonly text: string) {}
}

type Part = string | number | Html | readonly Html[] | undefined;

/** HTML with every value escaped but what is HTML already. */
function html(texts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(texts.reduce((whole, text, at) => `${whole}${textOf(values[at - 1])}${text}`));
}

function textOf(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part));
  return part.map(({ text }) => text).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string) => text.replace(/[&<>"']/g, (letter) => entities[letter] ?? '');

const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { display: grid; place-items: center; min-height: 100vh; margin: 0 }
main { width: min(26rem, 90vw) }
label { display: block; margin: .75rem 0 }
input { display: block; width: 100%; box-sizing: border-box; padding: .5rem; font: inherit }
button { padding: .5rem 1rem; margin: .75rem .5rem 0 0; font: inherit }
dt { opacity: .7 } dd { margin: 0 0 .5rem; font-weight: 600; overflow-wrap: anywhere }
.note { border-left: 3px solid; padding-left: .75rem }
`;
const styleHash = createHash('sha256').update(style).digest('base64');

/** Nothing is loaded, nothing runs, nobody frames it, and its forms go to us alone. `same-origin`: a form must say where it stands. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

function page(title: string, note: string | undefined, body: Html): string {
  const noted = note === undefined ? undefined : html`<p class="note" role="alert">${note}</p>`;
  const head = html`<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · Longshore</title>`;
  return html`<!doctype html>
<html lang="en"><head>${head}<style>${new Html(style)}</style></head>
<body><main><h1>${title}</h1>${noted}${body}</main></body></html>
`.text;
}

interface Shown {
  readonly csrf: string;
  readonly userCode: string;
  readonly note?: string | undefined;
}

const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`;

/** Name and password, and a new one where the old is for setup. */
export function loginPage({
  csrf,
  userCode,
  note,
  name,
  choosing,
}: Shown & { name: string; choosing: boolean }): string {
  const choose = choosing
    ? html`<label>New password<input type="password" name="new_password" autocomplete="new-password" required></label>`
    : undefined;
  return page(
    'Log in',
    note,
    html`<form method="post" action="/device">${hidden('csrf', csrf)}${hidden('user_code', userCode)}
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
