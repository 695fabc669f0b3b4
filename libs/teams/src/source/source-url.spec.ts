import { describe, expect, it } from '@jest/globals';
import { readSourceUrl, sameOrigin, sameSource } from './source-url.js';

const read = (url: string) => () => readSourceUrl(url);
const refusal = (detail: string) =>
  expect.objectContaining({ code: 'source_refused', detail: expect.stringContaining(detail) });

describe('the URL of a source', () => {
  it.each([
    ['https://Git.Example.com/Team/App.git', 'https', 'git.example.com', 443, 'https://git.example.com/Team/App.git'],
    ['https://git.example.com:8443/app', 'https', 'git.example.com', 8443, 'https://git.example.com:8443/app'],
    ['https://[2001:db8::1]/app', 'https', '[2001:db8::1]', 443, 'https://[2001:db8::1]/app'],
    ['ssh://git@host.example/team/app.git', 'ssh', 'host.example', 22, 'ssh://git@host.example/team/app.git'],
    ['ssh://git@Host.example:2222/~/app', 'ssh', 'host.example', 2222, 'ssh://git@host.example:2222/~/app'],
    ['git+ssh://git@host.example/app', 'ssh', 'host.example', 22, 'ssh://git@host.example/app'],
    ['git@host:team/app.git', 'ssh', 'host', 22, 'git@host:team/app.git'],
    ['host:app.git', 'ssh', 'host', 22, 'host:app.git'],
  ])('takes %s', (given, protocol, host, port, url) => {
    expect(readSourceUrl(given)).toEqual({ protocol, host, port, url });
  });

  it.each([
    ['file:///etc', 'A file: URL is refused'],
    ['FILE:///etc', 'A file: URL is refused'],
    ['file:/etc', 'A file: URL is refused'],
    ['ext::sh -c touch% /tmp/x', 'spaces'],
    ['ext::sh%20-c%20true', 'runs a program'],
    ['fd::17', 'runs a program'],
    ['http://git.example.com/app', 'http sends everything in the clear'],
    ['git://git.example.com/app', 'no encryption'],
    ['ftp://git.example.com/app', 'scheme that is not taken'],
    ['https://user@git.example.com/app', 'holds a credential'],
    ['https://user:secret@git.example.com/app', 'holds a credential'],
    ['ssh://git:secret@host/app', 'holds a credential'],
    ['git:secret@host:app', 'holds a credential'],
    ['https://git.example.com/app?private_token=secret', 'no query'],
    ['https://git.example.com/app#secret', 'no query'],
    ['https://git.example.com', 'names a host and no repository'],
    ['https:///app', 'names a host and no repository'],
    ['ssh://-oProxyCommand=x/app', 'not a name or an address'],
    ['ssh://-oProxyCommand/app', 'not a name or an address'],
    ['-oProxyCommand=x:app', 'not a name or an address'],
    ['-x@host:app', 'not one that ssh takes'],
    ['ssh://a%zz@host/app', 'not one that ssh takes'],
    ['ssh://h%6fst/app', 'not a name or an address'],
    ['https://git.example.com./app', 'not a name or an address'],
    ['https://%2d%2dx/app', 'not a name or an address'],
    ['git@host:-app', 'reads otherwise'],
    ['host', 'no URL of a repository'],
    ['../app', 'no URL of a repository'],
    ['', 'empty'],
    ['https://git.example.com/a b', 'spaces'],
    ['https://git.example.com/a\nb', 'control characters'],
  ])('H30 refuses %j by name, and never says it again', (given, detail) => {
    expect(read(given)).toThrow(refusal(detail));
    expect(read(given)).not.toThrow('secret');
  });

  it('tells the same repository and the same door apart from others', () => {
    const [one, other] = [readSourceUrl('https://h.example/a.git'), readSourceUrl('https://H.example:443/a/')];
    expect(sameSource(one, other)).toBe(true);
    expect(sameSource(one, readSourceUrl('https://h.example/b'))).toBe(false);
    expect(sameOrigin(one, readSourceUrl('https://h.example/b'))).toBe(true);
    expect(sameOrigin(one, readSourceUrl('https://h.example:444/a'))).toBe(false);
    expect(sameOrigin(one, readSourceUrl('ssh://h.example/a'))).toBe(false);
    expect(sameOrigin(one, readSourceUrl('/srv/a'))).toBe(false);
  });
});
