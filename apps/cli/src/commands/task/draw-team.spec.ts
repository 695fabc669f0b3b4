import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';
import type { TaskView } from '#contracts';
import { drawTeam } from './draw-team.js';

type Member = TaskView['team'][number];
const member = (member_id: string, parent_id: string | null, more: Partial<Member> = {}): Member => ({
  member_id,
  parent_id,
  name: member_id,
  state: 'not_started',
  latest_update: null,
  plan: null,
  steer_action: null,
  waits_for: null,
  ...more,
});
const plan = { steps: [{ step: 'Share it out', status: 'in_progress' as const }] };

describe('the team as a tree', () => {
  it('has a line for each member below its parent: state, the step at hand, the latest word', () => {
    const team = [
      member('lead', null, { state: 'waiting', plan, latest_update: 'Begun' }),
      member('back', 'lead', { name: 'Backend', state: 'working' }),
      member('sql', 'back', { state: 'done', plan, latest_update: 'Two\nlines' }),
      member('front', 'lead', { state: 'blocked', latest_update: '\u001b[2JNo way' }),
      member('docs', 'lead'),
      member('site', 'lead', { state: 'waiting', waits_for: 'lanes', latest_update: 'Soon' }),
    ];
    expect(drawTeam(team, pc.createColors(false)).split('\n')).toEqual([
      'lead        ○ waiting      Share it out · Begun',
      '├─ Backend  ● working',
      '│  └─ sql   ✓ done         Two lines',
      '├─ front    ✗ blocked      No way',
      '├─ docs     · not started',
      '└─ site     ○ waiting      waiting: lanes · Soon',
    ]);
  });
});
