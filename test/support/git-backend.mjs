/**
 * `node git-backend.mjs FOLDER`: the repositories in it over http on loopback, by `git http-backend`; says its port on stdout. A
 * process of its own, because it is small: to start a git from a test's costs ten times as much.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';

const [root] = process.argv.slice(2);
const server = createServer((request, response) => {
  const { pathname, search } = new URL(request.url, 'http://origin');
  const encoding = request.headers['content-encoding'];
  const protocol = request.headers['git-protocol'];
  // CGI as `git http-backend` speaks it
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      ...(encoding !== undefined && { HTTP_CONTENT_ENCODING: encoding }),
      ...(protocol !== undefined && { GIT_PROTOCOL: protocol }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  request.pipe(child.stdin);
  response.on('close', () => child.kill());
  let head = Buffer.alloc(0);
  child.stdout.on('data', (chunk) => {
    if (response.headersSent) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const lines = head.toString('latin1', 0, end).split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2)));
    response.writeHead(Number.parseInt(headers.Status ?? '200', 10), headers);
    response.write(head.subarray(end + 4));
  });
  child.stdout.on('end', () => response.end());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
