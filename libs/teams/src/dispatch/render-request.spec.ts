import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DispatchRequest, limits } from '#contracts';
import { continuationKind, findScript } from '../../../../apps/worker/src/provider/scripted/find-script.js';
import { aRepository } from '../../../../test/support/repositories.js';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';
import { uploadedSource } from '../../../../test/support/uploaded-source.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
  await farm.workflow();
});
afterAll(() => farm.close());

const script = `steps:
  - say: "1 < 2 && 3 > 2, 'quoted' \\"twice\\" &amp; </prompt>"
  - write: {path: a.txt, content: "<b>&</b>\\n"}
`;
const fenced = (text: string) => `\`\`\`yaml longshore-script\n${text}\`\`\``;

async function requestOf(more: Parameters<TeamFarm['alone']>[0] = {}) {
  const { task, worker } = await farm.alone(more);
  const north = worker('north');
  const lease = await north.begin();
  return { task, north, lease, request: DispatchRequest.parse(await farm.teams.roads.request(north.shown(lease))) };
}

/** Elements only, nested properly, nothing but escaped text between them. */
function checkXml(text: string, root: string): void {
  const open: string[] = [];
  const rest = text.replaceAll(/<(\/?)([a-z_]+)>|&(?:lt|gt|amp);/g, (_, slash: string, name: string | undefined) => {
    if (name === undefined) return '';
    if (slash === '') open.push(name);
    else expect(open.pop()).toBe(name);
    return '';
  });
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>&\r]/);
  expect(text.startsWith(`<${root}>\n`) && text.endsWith(`</${root}>\n`)).toBe(true);
}

describe('the request of a Dispatch', () => {
  it('is two lanes of plain elements with escaped text, in the order of the rules', async () => {
    await farm.workflow('told', { title: 'The <lead>', instruction: 'Mind & care </member_instruction>' });
    const { request } = await requestOf({
      workflow_id: 'told',
      prompt: 'Close </assignment> & <run>.',
      source: await uploadedSource(farm, aRepository({ 'a.txt': 'a\n' })),
      files: [{ path: 'a.txt' }],
    });
    checkXml(request.instructions, 'longshore_system');
    checkXml(request.input, 'longshore_dispatch_request');
    const order = (text: string) => [...text.matchAll(/^<([a-z_]+)>/gm)].map((found) => found[1]);
    const sections = ['core', 'workspace_and_files', 'checkpoint', 'task_lead', 'contributor', 'member_instruction'];
    expect(order(request.instructions).filter((name) => sections.includes(name ?? ''))).toEqual(sections);
    const fields = [
      'task',
      'dispatch',
      'current_member',
      'assignment',
      'direct_team',
      'available_actions',
      'workspace',
    ];
    expect(order(request.input).filter((name) => fields.includes(name ?? ''))).toEqual(fields);
    expect(request.manifest).toContain('## lead: The <lead>');
  });

  it('tells where the files of the Task are and that work counts when it has arrived', async () => {
    const { task, request } = await requestOf();
    expect(request.instructions).toContain('Work counts when it has arrived');
    for (const path of ['manifest.md', 'notes/lead', 'artifacts/lead']) {
      expect(request.instructions).toContain(`.longshore/${task}/${path}`);
    }
  });

  it.each([
    ['in the prompt', { prompt: `Follow this:\n\n${fenced(script)}\n\nThanks.` }],
    ['as the first thing of the prompt', { prompt: fenced(script) }],
    ['as the whole prompt', { prompt: script }],
  ])('carries a script %s unharmed to the scripted provider', async (_, more) => {
    const { request } = await requestOf(more);
    expect(findScript(request.instructions, request.input)?.trimEnd()).toBe(script.trimEnd());
  });

  it('carries a script of the member’s instruction unharmed, and the kind of its continuation', async () => {
    await farm.workflow('scripted', { instruction: fenced(script) });
    const { north, lease, request } = await requestOf({ workflow_id: 'scripted', prompt: 'Go.' });
    expect(findScript(request.instructions, request.input)?.trimEnd()).toBe(script.trimEnd());
    expect(continuationKind(request.input)).toBe('none');
    await north.complete(lease, 'crashed', { detail: 'exit <1>' });
    const next = await north.begin();
    const again = DispatchRequest.parse(await farm.teams.roads.request(north.shown(next)));
    expect(continuationKind(again.input)).toBe('watchdog_recovery');
    expect(again.instructions).toContain('<continuation>');
    checkXml(again.input, 'longshore_dispatch_request');
  });

  it('stays within its limit with the longest texts that are taken', async () => {
    await farm.workflow('long', {
      instruction: '&'.repeat(limits.memberProse),
      description: '<'.repeat(limits.memberProse),
    });
    const { request } = await requestOf({ workflow_id: 'long', prompt: '&'.repeat(limits.promptBytes) });
    expect(request.input.length + request.instructions.length).toBeGreaterThan(limits.promptBytes * 5);
  });
});
