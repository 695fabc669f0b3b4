import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workflowSearch } from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
});
afterAll(() => farm.close());

const publish = (id: string, description: string, members = 1) => {
  const children = Array.from({ length: members - 1 }, (_, n) => ({ id: `m${n}` }));
  const lead = { id: 'lead', ...(children.length > 0 && { children }) };
  const document = JSON.stringify({ lead, description, id, kind: 'workflow' });
  return farm.tx((tx) => farm.teams.workflows.import(tx, { document }));
};
const search = (input: Record<string, unknown>) =>
  farm.database.reading((tx) => farm.teams.workflows.search(tx, workflowSearch.input.parse(input)));

describe('the catalogue', () => {
  it('has its starters from the first start on, and never puts one over what people made of it', async () => {
    const start = () => farm.tx((tx) => farm.teams.workflows.insertStarters(tx));
    await Promise.all([start(), start()]);
    const solo = () => farm.database.reading((tx) => farm.teams.workflows.get(tx, { workflow_id: 'solo' }));
    expect(await solo()).toMatchObject({ revision_no: 1, document: { lead: { id: 'lead' } } });
    await publish('solo', 'ours');
    await start();
    expect(await solo()).toMatchObject({ revision_no: 2, document: { description: 'ours' } });
  });

  it('I17 selects the revision again when the same content is published, and mints no number', async () => {
    expect(await publish('again', 'first')).toEqual({
      accepted: true,
      workflow_id: 'again',
      revision_no: 1,
      created: true,
    });
    expect(await publish('again', 'second')).toMatchObject({ revision_no: 2, created: true });
    expect(await publish('again', 'first')).toMatchObject({ revision_no: 1, created: false });
    const current = await farm.database.reading((tx) => farm.teams.workflows.get(tx, { workflow_id: 'again' }));
    expect(current).toMatchObject({ revision_no: 1, document: { description: 'first' } });
    const second = await farm.database.reading((tx) =>
      farm.teams.workflows.get(tx, { workflow_id: 'again', revision_no: 2 }),
    );
    expect(second).toMatchObject({ document: { description: 'second' } });
  });

  it('numbers publications that come at once without gaps', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => publish('crowd', `text ${n % 4}`)));
    const numbers = answers.map((answer) => (answer.accepted ? answer.revision_no : 0));
    expect([...new Set(numbers)].sort()).toEqual([1, 2, 3, 4]);
  });

  it('stores nothing of a document that does not hold', async () => {
    const document = 'kind: workflow\nid: broken\nlead: {id: x}\n';
    const answer = await farm.tx((tx) => farm.teams.workflows.import(tx, { document }));
    expect(answer).toMatchObject({ accepted: false, issues: [{ path: '/description', line: 1 }] });
    await expect(
      farm.database.reading((tx) => farm.teams.workflows.get(tx, { workflow_id: 'broken' })),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  it('lists what is published by name, page by page, and finds it by its words', async () => {
    for (const id of ['page-a', 'page-b', 'page-c']) await publish(id, `Pages of ${id}`, 3);
    const first = await search({ query: 'PAGES of', limit: 2 });
    expect(first.items).toMatchObject([
      { workflow_id: 'page-a', members: 3, revision_no: 1 },
      { workflow_id: 'page-b' },
    ]);
    const second = await search({ query: 'PAGES of', limit: 2, cursor: first.next_cursor });
    expect(second).toMatchObject({ items: [{ workflow_id: 'page-c' }], next_cursor: null });
    expect((await search({ query: "100%'; _" })).items).toEqual([]);
    await expect(search({ cursor: 'bm9uc2Vuc2U' })).rejects.toMatchObject({ code: 'cursor_reset_required' });
  });
});
