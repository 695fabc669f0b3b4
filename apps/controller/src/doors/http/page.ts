import { createHash } from 'node:crypto';

/** Text of an HTML page whose values are escaped. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = string | number | Html | readonly Html[] | undefined;

/** HTML with every value escaped but what is HTML already. */
export function html(texts: TemplateStringsArray, ...values: readonly Part[]): Html {
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
input, textarea { display: block; width: 100%; box-sizing: border-box; padding: .5rem; font: inherit }
input[type=radio], input[type=checkbox] { display: inline; width: auto }
fieldset { margin: 1rem 0; padding: .75rem; border: 1px solid; border-radius: .25rem }
.text { white-space: pre-wrap; overflow-wrap: anywhere }
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

export function page(title: string, note: string | undefined, body: Html): string {
  const noted = note === undefined ? undefined : html`<p class="note" role="alert">${note}</p>`;
  const head = html`<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · Longshore</title>`;
  return html`<!doctype html>
<html lang="en"><head>${head}<style>${new Html(style)}</style></head>
<body><main><h1>${title}</h1>${noted}${body}</main></body></html>
`.text;
}

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;
