import { stringify } from 'yaml';
import { call, scriptedMember } from './scripted-member.js';

export const changesWorkflow = 'bench-changes';

/** A lead that calls, one after the other, what ends a Dispatch and is no part of a tree: its team changes, it has a command run, it asks. */
export function changesDocument(): string {
  const after = (operation: string) => ({
    continuation: 'structural_replan',
    told: `<operation>${operation}</operation>`,
  });
  const lead = scriptedMember(
    'lead',
    [call('add_child', { child: { title: 'One more', provider: { kind: 'scripted' } } })],
    [
      { when: after('add_child'), steps: [call('update_child', { id: 'first', patch: { title: 'The first' } })] },
      { when: after('update_child'), steps: [call('remove_child', { id: 'second' })] },
      { when: after('remove_child'), steps: [call('start_command_run', { request: commandRequest })] },
      { when: { continuation: 'command_result' }, steps: [call('open_human_request', { request: humanRequest })] },
      {
        when: { continuation: 'human_result' },
        steps: [call('checkpoint', { outcome: 'blocked', summary: 'All was called.' })],
      },
    ],
  );
  const children = ['first', 'second'].map((id) => ({ id, provider: { kind: 'scripted' } }));
  return stringify({
    kind: 'workflow',
    id: changesWorkflow,
    description: 'A lead that changes its team, for the benchmark.',
    lead: { ...lead, capabilities: { human_request: ['direction'], command_run: 'allow' }, children },
  });
}

const commandRequest = { command: { kind: 'argv', argv: ['true'] }, summary: 'Nothing' };
const humanRequest = {
  kind: 'direction',
  summary: 'Which way?',
  items: [
    {
      id: 'way',
      prompt: 'Left or right?',
      options: [
        { id: 'left', title: 'Left' },
        { id: 'right', title: 'Right' },
      ],
    },
  ],
};
