import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Catalogue, Ceiling, OperationClass } from '../operation.js';
import type { AgentPrincipal, Door, PersonPrincipal, PersonRole, Principal } from '../principal.js';
import { type AccessRows, type Setting, settingsOf } from './access-rows.js';
import { type Exposed, exposureOf, isOffered } from './exposure.js';

const agent: AgentPrincipal = {
  kind: 'agent',
  id: 'a_aaaaaaaa',
  name: 'Reviewer',
  owner: 'p_aaaaaaaa',
  scope: [],
  pool: 'default',
  labels: [],
  slots: 1,
};
const person = (role: PersonRole): PersonPrincipal => ({ kind: 'person', id: 'p_aaaaaaaa', name: 'Ada', role });

interface Given {
  readonly name?: string;
  readonly catalogue?: Catalogue;
  readonly class?: OperationClass;
  readonly ceiling?: Ceiling;
  readonly role?: PersonRole;
  readonly hasPreview?: boolean;
}

function anOperation({
  name = 'shelf_put',
  catalogue = 'operator',
  class: cls = 'mutate',
  ceiling = 'off',
  role = 'operator',
  hasPreview = true,
}: Given = {}): Exposed {
  return { name, hasPreview, access: { catalogue, class: cls, ceiling, role } };
}

interface Rows {
  readonly settings?: readonly Setting[];
  readonly lifted?: readonly string[];
  readonly grants?: readonly string[];
  readonly enabled?: boolean;
}

const rows = ({ settings = [], lifted = [], grants = [], enabled = true }: Rows = {}): AccessRows => ({
  version: 1,
  settings: settingsOf(settings, lifted),
  grants: new Set(grants),
  enabled,
});

const offers = (operation: Exposed, settings: readonly Setting[], lifted: readonly string[] = []) =>
  isOffered(operation, settingsOf(settings, lifted));
const row = (target: string, offered: boolean, owner: Setting['owner'] = 'user'): Setting => ({
  target,
  owner,
  offered,
});

const ask = (operation: Exposed | undefined, principal: Principal, door: Door, given: Rows = {}) =>
  exposureOf(operation, { principal, door }, rows(given));

describe('what is offered', () => {
  it.each([
    ['never', false, false],
    ['off', false, true],
    ['on', true, true],
  ] as const)('A3.1 by the ceiling %s is %s by default, and %s at most', (ceiling, byDefault, cap) => {
    const operation = anOperation({ ceiling });
    expect(offers(operation, [])).toBe(byDefault);
    expect(offers(operation, [row('shelf_put', true)])).toBe(cap);
    expect(offers(operation, [row('shelf_put', false)])).toBe(false);
  });

  it('A3.3 of a plugin follows the row of the plugin, and no outweighs yes, whoever said it', () => {
    const wipe = anOperation({ name: 'my_plugin.wipe' });
    const ping = anOperation({ name: 'my_plugin.ping' });
    const on = row('plugin:my_plugin', true, 'config');
    expect([offers(wipe, [on, row('my_plugin.wipe', false)]), offers(ping, [on])]).toEqual([false, true]);
    expect(offers(ping, [row('plugin:my_plugin', false, 'config'), row('my_plugin.ping', true)])).toBe(false);
    expect(offers(anOperation({ name: 'other.ping' }), [on])).toBe(false);
  });

  /** The algebra, written out once more: each row on its own, in whatever order. */
  function model(ceiling: Ceiling, isLifted: boolean, said: readonly (boolean | undefined)[]): boolean {
    const effective = ceiling === 'never' && isLifted ? 'off' : ceiling;
    if (effective === 'never') return false;
    let answer = effective === 'on';
    for (const one of said) if (one === true) answer = true;
    for (const one of said) if (one === false) answer = false;
    return answer;
  }

  it('A3.3 is the same as the model of the algebra says, for any rows of both owners', () => {
    const said = fc.option(fc.boolean(), { nil: undefined });
    const noise = fc.array(
      fc.record({ target: fc.constantFrom('plugin:other', 'mail', 'mail.send', 'sync'), offered: fc.boolean() }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom<Ceiling>('never', 'off', 'on'),
        fc.boolean(),
        fc.boolean(),
        fc.tuple(said, said, said, said),
        noise,
        (ceiling, isPlugins, isLifted, [ownFile, ownUser, pluginFile, pluginUser], others) => {
          const name = isPlugins ? 'mail.sync' : 'mail_sync';
          const settings = [
            ...others.map(({ target, offered }) => row(target, offered)),
            ...(ownFile === undefined ? [] : [row(name, ownFile, 'config')]),
            ...(ownUser === undefined ? [] : [row(name, ownUser)]),
            ...(pluginFile === undefined ? [] : [row('plugin:mail', pluginFile, 'config')]),
            ...(pluginUser === undefined ? [] : [row('plugin:mail', pluginUser)]),
          ];
          const counted = isPlugins ? [ownFile, ownUser, pluginFile, pluginUser] : [ownFile, ownUser];
          expect(offers(anOperation({ name, ceiling }), settings, isLifted ? [name] : [])).toBe(
            model(ceiling, isLifted, counted),
          );
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('A3.7 is not lifted from never where that would break a rule or let an agent widen its reach', () => {
    const lifted = (given: Given) => {
      const operation = anOperation({ ceiling: 'never', ...given });
      return offers(operation, [row(operation.name, true)], [operation.name]);
    };
    expect(lifted({ name: 'agent_revoke' })).toBe(true);
    expect(lifted({ class: 'read', hasPreview: false })).toBe(true);
    expect([lifted({ class: 'send' }), lifted({ hasPreview: false })]).toEqual([false, false]);
    expect(['exposure_set', 'mcp_power', 'grant_add', 'agent_rotate'].map((name) => lifted({ name }))).toEqual(
      Array(4).fill(false),
    );
  });
});

describe('what an agent may call', () => {
  const on = [row('shelf_put', true)];

  it('A4.1 takes a grant by name or for the whole plugin, besides being offered', () => {
    const put = anOperation();
    expect(ask(put, agent, 'mcp', { settings: on })).toBe('not_available');
    expect(ask(put, agent, 'mcp', { grants: ['shelf_put'] })).toBe('not_available');
    expect(ask(put, agent, 'mcp', { settings: on, grants: ['shelf_put'] })).toBe('offered');
    const ping = anOperation({ name: 'mail.ping' });
    const mail = [row('plugin:mail', true)];
    expect(ask(ping, agent, 'mcp', { settings: mail, grants: ['plugin:mail'] })).toBe('offered');
    expect(ask(ping, agent, 'mcp', { settings: mail, grants: ['plugin:other', 'mail'] })).toBe('not_available');
  });

  it('A4.8 goes as far as is offered, also for what the plugin brings later', () => {
    const later = anOperation({ name: 'mail.purge' });
    expect(ask(later, agent, 'mcp', { grants: ['plugin:mail'] })).toBe('not_available');
    expect(ask(later, agent, 'mcp', { grants: ['plugin:mail'], settings: [row('mail.purge', true)] })).toBe('offered');
  });

  it('A4.3 stays below the ceiling, whatever rows there are', () => {
    const never = anOperation({ ceiling: 'never' });
    expect(ask(never, agent, 'mcp', { settings: on, grants: ['shelf_put'] })).toBe('not_available');
  });

  it('A4.5 is the job protocol without a grant, of which a person over MCP has none', () => {
    const claim = anOperation({ name: 'job_claim', catalogue: 'job', class: 'protocol', ceiling: 'on' });
    expect(ask(claim, agent, 'mcp')).toBe('offered');
    expect(ask(claim, person('admin'), 'mcp')).toBe('not_available');
    expect(ask(anOperation({ catalogue: 'member', class: 'protocol', ceiling: 'on' }), agent, 'mcp')).toBe(
      'not_available',
    );
  });

  it('comes in by the door of MCP and by no other', () => {
    for (const door of ['cli', 'ui', 'node', 'internal'] as const)
      expect(ask(anOperation({ ceiling: 'on' }), agent, door, { grants: ['shelf_put'] })).toBe('not_available');
  });
});

describe('what a person may call', () => {
  it('A3.11 is an affair of the role at the command line, and of exposure too over MCP', () => {
    const never = anOperation({ ceiling: 'never' });
    expect(ask(never, person('operator'), 'cli')).toBe('offered');
    expect(ask(never, person('operator'), 'ui', { settings: [row('shelf_put', false)] })).toBe('offered');
    expect(ask(never, person('viewer'), 'cli')).toBe('not_allowed');
    const off = anOperation();
    expect(ask(off, person('admin'), 'mcp')).toBe('not_available');
    expect(ask(off, person('admin'), 'mcp', { settings: [row('shelf_put', true)] })).toBe('offered');
  });

  it('is not told apart over MCP: what the role forbids, what is off, what is absent', () => {
    const settings = [row('shelf_put', true)];
    expect(ask(anOperation(), person('viewer'), 'mcp', { settings })).toBe('not_available');
    expect(ask(undefined, person('admin'), 'mcp', { settings })).toBe('not_available');
  });
});
