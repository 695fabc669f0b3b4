import { describe, expect, it } from '@jest/globals';
import { readSourceUrl } from './source-url.js';
import { submoduleUrl } from './submodule-url.js';

describe('the URL of a submodule', () => {
  it.each([
    ['https://git.example.com/team/app.git', '../lib.git', 'https://git.example.com/team/lib.git'],
    ['https://git.example.com:8443/team/app', './lib', 'https://git.example.com:8443/team/app/lib'],
    ['https://git.example.com/a/b/c.git', '../../lib', 'https://git.example.com/a/lib'],
    ['ssh://git@git.example.com/team/app.git', '../lib.git', 'ssh://git@git.example.com/team/lib.git'],
    ['git@git.example.com:team/app.git', '../lib.git', 'git@git.example.com:team/lib.git'],
    ['git@git.example.com:team/app.git', '../../lib.git', 'git@git.example.com:lib.git'],
    ['git@git.example.com:/srv/app.git', '../lib.git', 'git@git.example.com:/srv/lib.git'],
    ['https://git.example.com/team/app.git', 'https://other.example.com/lib', 'https://other.example.com/lib'],
  ])('of %s, given as %s, is %s', (holder, given, url) => {
    expect(submoduleUrl(readSourceUrl(holder), given)).toMatchObject({ url });
  });

  it('leads nowhere else: not above the host, to a folder, by another scheme or with a credential', () => {
    const holder = readSourceUrl('https://git.example.com/team/app.git');
    expect(submoduleUrl(holder, '../../../lib')).toMatch('above the host');
    expect(submoduleUrl(holder, '/etc')).toMatch('a folder');
    expect(submoduleUrl(readSourceUrl('/srv/app'), '../lib')).toMatch('relative');
    for (const given of ['http://h.example/a', 'file:///etc', 'ext::sh -c x', 'https://u:p@h.example/a', '-x', 'a b'])
      expect(() => submoduleUrl(holder, given)).toThrow();
  });
});
