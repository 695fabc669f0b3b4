import { stringify } from 'yaml';
import { call, scriptedMember } from './scripted-member.js';

/** How wide each Wave of the tree is; it is three deep: a lead, managers, contributors. */
export interface Tree {
  readonly width: number;
}

/** Managers wait for this file in their workspace before they give work away, contributors before they say that they are done. */
export const goFile = 'go';

export const treeWorkflow = 'bench-tree';

export const membersOf = ({ width }: Tree): number => 1 + width + width * width;

export const wavesOf = ({ width }: Tree): number => 1 + width;

/** Files that the Result of a whole tree has changed: one of each contributor, and the one that those of a manager share. */
export const filesOf = ({ width }: Tree): number => width + width * width;

export const isManager = (member: string): boolean => /^m\d+$/.test(member);

/** Of a contributor; nothing for anybody else. */
export const managerOf = (member: string): string | undefined => /^(m\d+)-c\d+$/.exec(member)?.[1];

/** A team that follows scripts. Each contributor writes a file of its own and changes its part of one that all of a manager share. */
export function treeDocument({ width }: Tree): string {
  const numbers = Array.from({ length: width }, (_, n) => n + 1);
  const managers = numbers.map((n) => `m${n}`);
  return stringify({
    kind: 'workflow',
    id: treeWorkflow,
    description: 'A lead, managers and their contributors, for the benchmark.',
    lead: {
      ...member('lead', [...looks, planned, gives(managers)], [planned, green('lead')]),
      children: managers.map((manager) => {
        const names = numbers.map((n) => `${manager}-c${n}`);
        const shared = `${manager}/shared.txt`;
        const before = [
          ...looks,
          planned,
          { write: { path: shared, content: names.map(partOf).join('') } },
          ...goes,
          gives(names),
        ];
        return {
          ...member(manager, before, [planned, green(manager)]),
          children: names.map((name) =>
            member(name, [
              ...looks,
              planned,
              { edit: { path: shared, find: `${name} has done nothing`, replace: `${name} was here` } },
              { write: { path: `${manager}/${name}.txt`, content: `${name}\n` } },
              call('checkpoint', { summary: 'Half of it' }),
              ...goes,
              green(name),
            ]),
          ),
        };
      }),
    },
  });
}

const looks = [call('get_current_context', {})];
const goes = [{ wait: { file: goFile } }, { run: { command: `rm ${goFile}`, must_pass: true } }];
const planned = call('set_work_plan', { steps: [{ step: 'Do my part', status: 'in_progress' }] });
const green = (name: string) => call('checkpoint', { outcome: 'green', summary: `Done by ${name}` });
const gives = (names: readonly string[]) =>
  call('delegate', { assignments: names.map((child_id) => ({ child_id, prompt: 'Do your part.' })) });

/** Far enough from the next that both can be changed side by side. */
const partOf = (name: string) => `# ${name}\n\n\n${name} has done nothing\n\n\n`;

function member(id: string, steps: readonly object[], afterJoin?: readonly object[]) {
  const rounds =
    afterJoin === undefined ? [] : [{ when: { continuation: 'delegation_wave_settled' }, steps: afterJoin }];
  return scriptedMember(id, steps, rounds);
}
