import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { tempDir } from '../../../../../test/support/temp-dir.js';
import type { SessionAccount } from '../port.js';
import { acpNeeds } from './acp-needs.js';

const account = (more: Partial<SessionAccount> = {}): SessionAccount => ({
  name: 'agent',
  environment: {},
  secrets: { API_KEY: 'a-canary' },
  billing: 'metered',
  ...more,
});
const upstream = 'https://api.example/v1';

describe('what an ACP agent needs inside a sandbox', () => {
  it('is the link, all packages that its script was installed with, and of a home no more than the file', async () => {
    const folder = tempDir('agent');
    const made = join(folder, 'node_modules/@vendor/agent/main.js');
    mkdirSync(dirname(made), { recursive: true });
    writeFileSync(made, '');
    mkdirSync(join(folder, 'bin'));
    symlinkSync(made, join(folder, 'bin/agent'));
    const inHome = join(homedir(), 'agent.js');
    const { readable } = await acpNeeds({ program: join(folder, 'bin/agent'), arguments: ['--config', inHome] });
    expect(readable).toEqual(expect.arrayContaining([join(folder, 'bin'), join(folder, 'node_modules'), inHome]));
    expect(readable).not.toContain(homedir());
    expect(readable).not.toContain(folder);
  });

  it('H35 is no host of its model where the proxy holds its key, and its host where the key has to be seen', async () => {
    const agent = { hosts: ['more.example'], keyHeader: { name: 'authorization', prefix: 'Bearer ' } };
    expect(await acpNeeds({ program: '/bin/sh', account: account({ upstream, agent }) })).toMatchObject({
      hosts: ['more.example'],
      keys: [{ secret: 'API_KEY', header: 'authorization', prefix: 'Bearer ', upstream }],
    });
    const seen = account({ upstream, agent: { hosts: [], folder: '/var/lib/agent' } });
    expect(await acpNeeds({ program: '/bin/sh', account: seen })).toMatchObject({
      hosts: ['api.example'],
      keys: [],
      writable: ['/var/lib/agent'],
    });
  });
});
