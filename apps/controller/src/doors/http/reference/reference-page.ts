/** Paths of the page and of what it loads: all of it from here. */
export const referencePaths = { page: '/docs', start: '/docs/start.js', script: '/docs/reference.js' } as const;

/** Nothing but our own scripts, and no other host for anything; the styles are set by the script. */
export const referencePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

export const referencePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Longshore: operations</title>
<form id="who" hidden>
  <p>The operations are shown to people who are logged in. Log in, or paste a token of yours: it stays in this page.</p>
  <label>Token <input id="token" type="password" autocomplete="off"></label>
  <button>Show</button>
  <p id="refused" role="alert"></p>
</form>
<div id="reference"></div>
<script src="${referencePaths.script}"></script>
<script src="${referencePaths.start}"></script>
</html>
`;

/** Asks for the document with the session's cookie, else with a token that a person pastes, and draws it. */
export const referenceStart = `'use strict';
const who = document.getElementById('who');
const show = async (headers) => {
  const answer = await fetch('/v1/openapi.json', { headers });
  if (!answer.ok) return answer.status;
  who.hidden = true;
  Scalar.createApiReference('#reference', {
    content: await answer.json(),
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
  });
  return answer.status;
};
who.addEventListener('submit', async (event) => {
  event.preventDefault();
  const status = await show({ authorization: 'Bearer ' + document.getElementById('token').value.trim() });
  if (status !== 200) document.getElementById('refused').textContent = 'The farm refused this token (' + status + ').';
});
show({}).then((status) => { who.hidden = status === 200; });
`;
