import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workflowSearch, workflowText } from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';
import { membersOf } from './edit-document.js';
import { parseWorkflow } from './parse-workflow.js';
import { starters } from './starters.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
});
afterAll(() => farm.close());

const start = () => farm.tx((tx) => farm.teams.workflows.insertStarters(tx));
const library = async () => {
  const input = workflowSearch.input.parse({});
  const { items } = await farm.database.reading((tx) => farm.teams.workflows.search(tx, input));
  return items.map(({ workflow_id, provenance }) => `${workflow_id} ${provenance}`);
};

describe('the starters', () => {
  it.each(starters.map((starter) => [starter.id, starter] as const))(
    '%s holds, names no provider, and says how each member is to work',
    (_, starter) => {
      expect(parseWorkflow(workflowText(starter))).toEqual({ ok: true, document: starter });
      for (const { provider, instruction, title } of membersOf(starter.lead)) {
        expect([provider, typeof instruction, typeof title]).toEqual([undefined, 'string', 'string']);
      }
    },
  );

  it('stand in the library from the first start on, and stay away once they were removed', async () => {
    await Promise.all([start(), start()]);
    expect(await library()).toEqual([
      'decision-through-competing-prototypes starter',
      'deep-research-and-decision-brief starter',
      'experiment-and-replication-program starter',
      'idea-to-validated-demo starter',
      'incident-investigation-and-recovery starter',
      'migration-and-modernisation starter',
      'production-feature-delivery starter',
      'security-audit-and-hardening starter',
      'solo starter',
    ]);
    const workflow_id = 'idea-to-validated-demo';
    await farm.tx((tx) => farm.teams.workflows.remove(tx, { workflow_id }));
    await start();
    expect(await library()).toHaveLength(8);
  });

  it('leave a draft alone that has the name of one', async () => {
    const fresh = await aTeamFarm();
    try {
      const workflow = { kind: 'workflow', id: 'solo', description: 'Ours', lead: { id: 'me' } } as const;
      await fresh.tx((tx) => fresh.teams.drafts.begin(tx, { workflow }));
      await fresh.tx((tx) => fresh.teams.workflows.insertStarters(tx));
      const answer = fresh.database.reading((tx) => fresh.teams.workflows.get(tx, { workflow_id: 'solo' }));
      await expect(answer).rejects.toMatchObject({ code: 'not_found' });
    } finally {
      await fresh.close();
    }
  });
});
