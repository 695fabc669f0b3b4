import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { taskStart, workflowImport } from '#contracts';
import { Farm } from '../support/farm.js';

let farm: Farm;
beforeAll(async () => {
  farm = await Farm.start({ workers: ['north', 'south'], slots: 1 });
});
afterAll(() => farm.stop());

/** Two children who write the same file at once, so that they are on two machines and the second one conflicts. */
const child = (id: string, text: string) => `
    - id: ${id}
      provider: {kind: scripted}
      instruction: |
        \`\`\`yaml longshore-script
        steps:
          - write: {path: shared.txt, content: "${text}\\n"}
          - run: echo "${id} was here" > "$(ls -d .longshore/t_*)/notes/${id}/found.md"
          - wait: {seconds: 1}
          - call: {operation: checkpoint, input: {outcome: green, summary: Done by ${id}}}
        \`\`\``;

const team = (id: string, afterJoin: string) => `
kind: workflow
id: ${id}
description: A lead and two who collide.
lead:
  id: lead
  provider: {kind: scripted}
  instruction: |
    \`\`\`yaml longshore-script
    steps:
      - write: {path: before.txt, content: "before\\n"}
      - call:
          operation: delegate
          input: {assignments: [{child_id: one, prompt: Do it}, {child_id: two, prompt: Do it}]}
    rounds:
      - when: {continuation: delegation_wave_settled}
        steps:
${afterJoin.replaceAll(/^/gm, '          ')}
    \`\`\`
  children:${child('one', 'first')}${child('two', 'second')}
`;

const green = '- call: {operation: checkpoint, input: {outcome: green, summary: All of it}}';
const merging = `- run: {command: test -z "$(git status --porcelain)", must_pass: true}
- run: "git merge -q --no-edit \\"$(git branch --list 'longshore/two-*' --format '%(refname:short)')\\""
- run: {command: "grep -q '<<<<<<<' shared.txt", must_pass: true}
- write: {path: shared.txt, content: "both\\n"}
- run: {command: git add shared.txt && git commit -q --no-edit, must_pass: true}
- run: {command: "cat .longshore/t_*/notes/*/found.md > heard.txt", must_pass: true}
${green}`;

const run = async (id: string, afterJoin: string) => {
  await farm.client.call(workflowImport, { document: team(id, afterJoin) }, { confirm: true });
  const { task_id: task } = await farm.client.call(taskStart, { workflow_id: id, prompt: 'Go.' });
  return { task, view: await farm.until(task) };
};

describe('the work of a team on two machines', () => {
  it('D22 lays a branch that conflicts into the parent’s workspace: merged there it is in the Result, and not listed', async () => {
    const { task, view } = await run('collide', merging);
    expect(view.result).toMatchObject({ outcome: 'green', unmerged: [] });
    expect(view.result?.files_changed.map(({ path }) => path)).toEqual(['before.txt', 'heard.txt', 'shared.txt']);
    expect(await farm.fileOf(task, 'shared.txt')).toBe('both');
    // Notes of both, written on their machines, reached the lead and are in no branch but where it put them.
    expect(await farm.fileOf(task, 'heard.txt')).toBe('one was here\ntwo was here');
    expect(view.rescues).toEqual([]);
  });

  it('D22 lists in the Result what nobody has merged', async () => {
    const { task, view } = await run('leave', green);
    expect(view.result?.unmerged).toMatchObject([
      { member_id: 'two', branch: expect.stringMatching(/^longshore\/two-/) },
    ]);
    expect(await farm.fileOf(task, 'shared.txt')).toBe('first');
  });
});
