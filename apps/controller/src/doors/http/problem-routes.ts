import type { FastifyInstance } from 'fastify';
import { errorCodes, FarmError, type FarmErrorCode, isFarmErrorCode, problemTypes, type WhoActs } from '#contracts';

const whoActs: Readonly<Record<WhoActs, string>> = {
  caller: 'Change the call: its `detail`, `fields` and `hint` say how.',
  admin: 'Somebody who rules the farm or its machines has to mend something; then the same call goes through.',
  nobody: 'Nothing needs to be changed: the same call may be sent again, after `retry_after_ms` where it is there.',
  us: 'A fault of Longshore’s: please report it with the `instance` of the problem.',
};

/** Where who must act does not say what. */
const ways: Partial<Readonly<Record<FarmErrorCode, string>>> = {
  not_allowed:
    'Leave it to somebody who may, or ask an admin for the role; the `hint` says which, where a role is what lacks.',
  unauthenticated:
    'Log in again (`longshore login`), or take another token: each holds for one door and until it ends or is revoked.',
  confirmation_required:
    'Look at the `proposal`. Where it is what you mean, send the same call with `confirm`; at the command line, `--yes`.',
};

/** Where the `type` of a problem leads: what the code means, for whoever looks, without a credential (RFC 9457). */
export function problemRoutes(scope: FastifyInstance): void {
  scope.get<{ Params: { code: string } }>(`${problemTypes.path}/:code`, async (request, reply) => {
    const { code } = request.params;
    if (!isFarmErrorCode(code)) throw new FarmError('not_available');
    reply.header('cache-control', 'public, max-age=3600').header('vary', 'accept');
    const explained = explain(code);
    if (!/\btext\/html\b/.test(request.headers.accept ?? '')) return explained;
    return reply.header('content-type', 'text/html; charset=utf-8').send(pageOf(explained));
  });
}

function explain(code: FarmErrorCode) {
  const { title, status, exit, who } = errorCodes[code];
  return { type: problemTypes.of(code), code, title, status, exit_code: exit, what_to_do: ways[code] ?? whoActs[who] };
}

/** Everything on it is ours: no text of a caller's. */
function pageOf({ code, title, status, exit_code, what_to_do }: ReturnType<typeof explain>): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${code}</title>
<h1>${title}</h1>
<p>${what_to_do.replaceAll(/`([\w -]+)`/g, '<code>$1</code>')}</p>
<p>Code <code>${code}</code>, HTTP status ${status}, exit code ${exit_code} of the command line.</p>
</html>
`;
}
