import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import {
  AccountOffer,
  type DraftEdit,
  type DraftRef,
  limits,
  type WorkflowDocument,
  workflowDraftCreate,
  workflowDraftEdit,
  workflowGet,
  workflowSearch,
} from '#contracts';
import { aTeamFarm, type TeamFarm } from '../../../../test/support/team-farm.js';

let farm: TeamFarm;
beforeAll(async () => {
  farm = await aTeamFarm();
});
afterAll(() => farm.close());

type Version = Pick<DraftRef, 'draft_id' | 'etag'>;

const aWorkflow = (id: string, more: Partial<WorkflowDocument> = {}): WorkflowDocument => ({
  kind: 'workflow',
  id,
  description: 'A team',
  lead: { id: 'lead' },
  ...more,
});
const begin = (input: z.input<typeof workflowDraftCreate.input>) =>
  farm.tx((tx) => farm.teams.drafts.begin(tx, workflowDraftCreate.input.parse(input)));
const edit = ({ draft_id, etag }: Version, operation: z.input<typeof DraftEdit>) =>
  farm.tx((tx) => farm.teams.drafts.edit(tx, workflowDraftEdit.input.parse({ draft_id, etag, operation })));
const addTo = (draft: Version, parent_member_id: string, member: Record<string, unknown> = {}) =>
  edit(draft, { kind: 'add_member', parent_member_id, member });
const undo = ({ draft_id, etag }: Version, receipt: string | null) =>
  farm.tx((tx) => farm.teams.drafts.undo(tx, { draft_id, etag, receipt_id: receipt ?? '' }));
const discard = ({ draft_id, etag }: Version) => farm.tx((tx) => farm.teams.drafts.discard(tx, { draft_id, etag }));
const publish = ({ draft_id, etag }: Version) => farm.tx((tx) => farm.teams.drafts.publish(tx, { draft_id, etag }));
const validate = ({ draft_id }: Version) => farm.database.reading((tx) => farm.teams.drafts.validate(tx, { draft_id }));
const get = (workflow_id: string, selection?: z.input<typeof workflowGet.input>['selection'], revision_no?: number) =>
  farm.database.reading((tx) =>
    farm.teams.workflows.get(tx, workflowGet.input.parse({ workflow_id, selection, revision_no })),
  );
const draftOf = async (workflow: string) => {
  const answer = await get(workflow, { kind: 'draft' });
  if (!('document' in answer)) throw new Error('no document');
  return answer.document;
};
const catalog = async (workflow: string, more: { revision_limit?: number; revision_cursor?: string } = {}) => {
  const answer = await get(workflow, { kind: 'catalog', ...more });
  if (!('actions' in answer)) throw new Error('no catalog');
  return answer;
};
const remove = (workflow_id: string) => farm.tx((tx) => farm.teams.workflows.remove(tx, { workflow_id }));
const search = async (input: z.input<typeof workflowSearch.input>) =>
  (await farm.database.reading((tx) => farm.teams.workflows.search(tx, workflowSearch.input.parse(input)))).items;
const conflict = { code: 'conflict' };

describe('a draft', () => {
  it('O4 is begun from a whole document; the same again changes nothing, another one needs the etag', async () => {
    const first = await begin({ workflow: aWorkflow('begun') });
    expect(first).toMatchObject({
      is_created: true,
      undo_receipt: null,
      draft: { base_revision_no: null, members: 1 },
    });
    expect(first.draft.draft_id).toMatch(/^workflow-draft\./);
    expect(await begin({ workflow: aWorkflow('begun') })).toEqual({ ...first, is_created: false });
    const other = aWorkflow('begun', { description: 'Another team' });
    await expect(begin({ workflow: other })).rejects.toMatchObject(conflict);
    const replaced = await begin({ workflow: other, etag: first.draft.etag });
    expect(replaced).toMatchObject({ is_created: false, draft: { draft_id: first.draft.draft_id } });
    expect(replaced.draft.etag).not.toBe(first.draft.etag);
    await expect(begin({ workflow: aWorkflow('begun'), etag: first.draft.etag })).rejects.toMatchObject(conflict);
    const back = await undo(replaced.draft, replaced.undo_receipt);
    expect(await draftOf('begun')).toEqual(aWorkflow('begun'));
    await discard(back.draft);
    await expect(begin({ workflow: other, etag: back.draft.etag })).rejects.toMatchObject(conflict);
  });

  it('O4 is begun from what is published, once, however many begin it at the same moment', async () => {
    await farm.workflow('opened', { title: 'Lead' });
    const begun = await Promise.all(Array.from({ length: 4 }, () => begin({ workflow_id: 'opened' })));
    expect(new Set(begun.map(({ draft }) => draft.etag)).size).toBe(1);
    expect(begun.filter(({ is_created }) => is_created)).toHaveLength(1);
    expect(begun[0]?.draft.base_revision_no).toBe(1);
    expect(await draftOf('opened')).toMatchObject({ lead: { title: 'Lead' } });
    await expect(begin({ workflow_id: 'nobodys' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(begin({})).rejects.toMatchObject({ code: 'invalid_input' });
    await expect(begin({ workflow_id: 'a', workflow: aWorkflow('b') })).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });

  it('O5 takes one change at a time, each with a new etag and a receipt', async () => {
    const { draft } = await begin({ workflow: aWorkflow('edited', { note: 'Old' }) });
    const words = await edit(draft, { kind: 'update_workflow', patch: { description: 'New', note: null } });
    expect(words.accepted_change).toEqual({ kind: 'workflow_updated' });
    const added = await addTo(words.draft, 'lead', { title: 'One', children: [{ title: 'Below' }] });
    expect(added.accepted_change).toEqual({
      kind: 'member_added',
      parent_member_id: 'lead',
      member_id: 'member-1',
      created_ids: ['member-1', 'member-2'],
    });
    const changed = await edit(added.draft, {
      kind: 'update_member',
      member_id: 'member-1',
      patch: { title: null, instruction: 'Work.', provider: { kind: 'claude' } },
    });
    expect(await draftOf('edited')).toEqual({
      kind: 'workflow',
      id: 'edited',
      description: 'New',
      lead: {
        id: 'lead',
        children: [
          {
            id: 'member-1',
            instruction: 'Work.',
            provider: { kind: 'claude' },
            children: [{ id: 'member-2', title: 'Below' }],
          },
        ],
      },
    });
    const gone = await edit(changed.draft, { kind: 'remove_member', member_id: 'member-1' });
    expect(gone.accepted_change).toMatchObject({ removed_ids: ['member-1', 'member-2'] });
    expect(await draftOf('edited')).toMatchObject({ lead: { id: 'lead' } });
    const etags = [draft, words.draft, added.draft, changed.draft, gone.draft].map(({ etag }) => etag);
    expect(new Set(etags).size).toBe(5);
  });

  it('O5 never gives an id again, whoever had it: a member that was removed, one that was undone, one that somebody wrote', async () => {
    const lead = { id: 'lead', children: [{ id: 'member-7' }] };
    const { draft } = await begin({ workflow: aWorkflow('numbered', { lead }) });
    const one = await addTo(draft, 'lead');
    expect(one.accepted_change).toMatchObject({ member_id: 'member-8' });
    const none = await undo(one.draft, one.undo_receipt);
    const two = await addTo(none.draft, 'lead');
    expect(two.accepted_change).toMatchObject({ member_id: 'member-9' });
    const removed = await edit(two.draft, { kind: 'remove_member', member_id: 'member-9' });
    const replaced = await begin({ workflow: aWorkflow('numbered'), etag: removed.draft.etag });
    expect((await addTo(replaced.draft, 'lead')).accepted_change).toMatchObject({ member_id: 'member-10' });
  });

  it('O5 refuses what no draft can hold, and changes nothing', async () => {
    const { draft } = await begin({
      workflow: aWorkflow('refused', { lead: { id: 'lead', children: [{ id: 'a' }] } }),
    });
    await expect(edit(draft, { kind: 'remove_member', member_id: 'lead' })).rejects.toMatchObject({
      code: 'illegal_state',
    });
    await expect(addTo(draft, 'nobody')).rejects.toMatchObject({ code: 'not_found' });
    expect(await edit(draft, { kind: 'update_workflow', patch: { description: 'A team' } })).toMatchObject({
      draft: { etag: draft.etag },
      undo_receipt: null,
    });
    const twins = aWorkflow('refused', { lead: { id: 'lead', children: [{ id: 'a' }, { id: 'a' }] } });
    const { draft: twin } = await begin({ workflow: twins, etag: draft.etag });
    await expect(edit(twin, { kind: 'remove_member', member_id: 'a' })).rejects.toMatchObject({
      code: 'illegal_state',
    });
    expect(await draftOf('refused')).toEqual(twins);
  });

  it('I16 O5 changes nothing for a stale etag, and tells the version that stands', async () => {
    const { draft } = await begin({ workflow: aWorkflow('stale') });
    const { draft: now, undo_receipt } = await addTo(draft, 'lead');
    const told = { ...conflict, detail: expect.stringContaining(now.etag) };
    await expect(addTo(draft, 'lead')).rejects.toMatchObject(told);
    await expect(undo(draft, undo_receipt)).rejects.toMatchObject(told);
    await expect(discard(draft)).rejects.toMatchObject(told);
    await expect(publish(draft)).rejects.toMatchObject(told);
    await expect(get('stale', { kind: 'draft', etag: draft.etag })).rejects.toMatchObject(told);
    expect(await get('stale', { kind: 'draft', etag: now.etag })).toMatchObject({ draft: { members: 2 } });
  });

  it('I16 is changed by one of many who saw the same version', async () => {
    const { draft } = await begin({ workflow: aWorkflow('crowded') });
    const told = await Promise.allSettled(Array.from({ length: 6 }, () => addTo(draft, 'lead')));
    expect(told.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await draftOf('crowded')).toMatchObject({ lead: { children: [{ id: 'member-1' }] } });
  });

  it('O7 I17 is put back by a receipt once, only at its own etag, and without another receipt', async () => {
    const { draft } = await begin({ workflow: aWorkflow('undone') });
    const one = await addTo(draft, 'lead');
    const two = await addTo(one.draft, 'lead');
    await expect(undo(two.draft, one.undo_receipt)).rejects.toMatchObject(conflict);
    const back = await undo(two.draft, two.undo_receipt);
    expect(back).toEqual({ draft: expect.anything(), consumed_receipt_id: two.undo_receipt });
    expect(await draftOf('undone')).toMatchObject({ lead: { children: [{ id: 'member-1' }] } });
    for (const receipt of [one.undo_receipt, two.undo_receipt])
      await expect(undo(back.draft, receipt)).rejects.toMatchObject(conflict);
    const other = await begin({ workflow: aWorkflow('undone-other') });
    const three = await addTo(other.draft, 'lead');
    await expect(undo(back.draft, three.undo_receipt)).rejects.toMatchObject(conflict);
  });

  it('O7 is put back once, when two do it at the same moment', async () => {
    const { draft } = await begin({ workflow: aWorkflow('undone-twice') });
    const one = await addTo(draft, 'lead');
    const told = await Promise.allSettled([1, 2].map(() => undo(one.draft, one.undo_receipt)));
    expect(told.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('O6 is told all that keeps it from being published at once, each with its place', async () => {
    const children = [{ id: 'twin', provider: { kind: 'codex' as const } }, { id: 'twin' }, { id: 'lead' }];
    const { draft } = await begin({ workflow: aWorkflow('checked', { lead: { id: 'lead', children } }) });
    expect(await validate(draft)).toMatchObject({
      is_valid: false,
      issues: [{ path: '/lead/children/1/id', message: 'Two members have this id.' }, { path: '/lead/children/2/id' }],
    });
    await expect(publish(draft)).rejects.toMatchObject({
      code: 'invalid_workflow',
      fields: [{ path: '/lead/children/1/id' }, { path: '/lead/children/2/id' }],
    });
    const good = await begin({ workflow: aWorkflow('checked', { lead: { id: 'lead' } }), etag: draft.etag });
    await farm.tx((tx) => farm.teams.policy.set(tx, 'p_00000001', { providers: ['scripted'] }));
    try {
      expect(await validate(good.draft)).toMatchObject({ is_valid: true, issues: [] });
      const asks = await edit(good.draft, {
        kind: 'update_member',
        member_id: 'lead',
        patch: { provider: { kind: 'codex' } },
      });
      expect(await validate(asks.draft)).toMatchObject({ issues: [{ path: '/lead/provider/kind' }] });
      await expect(publish(asks.draft)).rejects.toMatchObject({ code: 'invalid_workflow' });
    } finally {
      await farm.tx((tx) => farm.teams.policy.set(tx, 'p_00000001', {}));
    }
  });

  it('O8 is thrown away, and what is published stays', async () => {
    await farm.workflow('kept');
    const { draft } = await begin({ workflow_id: 'kept' });
    const { draft: changed, undo_receipt } = await addTo(draft, 'lead');
    expect(await discard(changed)).toEqual({ is_discarded: true, draft_id: draft.draft_id });
    expect(await catalog('kept')).toMatchObject({ state: 'published', draft: null, members: 1 });
    await expect(undo(changed, undo_receipt)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('O9 I17 becomes the revision that Tasks get; the same content selects its revision again', async () => {
    const { draft } = await begin({ workflow: aWorkflow('out', { description: 'First' }) });
    expect(await search({ query: 'out', state: 'draft' })).toMatchObject([{ workflow_id: 'out', revision_no: null }]);
    expect(await publish(draft)).toMatchObject({ workflow_id: 'out', revision_no: 1, created: true });
    await expect(publish(draft)).rejects.toMatchObject({ code: 'not_found' });
    const second = await begin({ workflow: aWorkflow('out', { description: 'Second' }) });
    expect(second.draft.base_revision_no).toBe(1);
    expect(await catalog('out')).toMatchObject({ state: 'published_with_draft', description: 'First' });
    expect(await publish(second.draft)).toMatchObject({ revision_no: 2 });
    const again = await begin({ workflow: aWorkflow('out', { description: 'First' }) });
    expect(await publish(again.draft)).toMatchObject({ revision_no: 1, created: false });
    expect(await get('out')).toMatchObject({ revision_no: 1, document: { description: 'First' } });
  });

  it('O9 is published by one of two who saw the same version', async () => {
    const { draft } = await begin({ workflow: aWorkflow('out-twice') });
    const told = await Promise.allSettled([1, 2].map(() => publish(draft)));
    expect(told.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await catalog('out-twice')).revisions?.items).toHaveLength(1);
  });
});

describe('the limits of a workflow', () => {
  const parse = (more: object) =>
    workflowDraftCreate.input.safeParse({ workflow: { ...aWorkflow('x'), ...more } }).success;

  it.each([
    ['an id', limits.workflowId, (n: number) => ({ lead: { id: 'b'.repeat(n) } })],
    ['a description', limits.workflowDescription, (n: number) => ({ description: 'x'.repeat(n) })],
    ['a note', limits.workflowNote, (n: number) => ({ note: 'x'.repeat(n) })],
    ["a member's instruction", limits.memberProse, (n: number) => ({ lead: { id: 'l', instruction: 'x'.repeat(n) } })],
    ["a member's description", limits.memberProse, (n: number) => ({ lead: { id: 'l', description: 'x'.repeat(n) } })],
    ['a model', 255, (n: number) => ({ lead: { id: 'l', provider: { kind: 'claude', model: 'm'.repeat(n) } } })],
    [
      'direct children',
      limits.workflowChildren,
      (n: number) => ({ lead: { id: 'l', children: Array.from({ length: n }, (_, at) => ({ id: `m${at}` })) } }),
    ],
  ])('N1 hold for %s: at %i a draft is taken, one over it is not', (_, most, given) => {
    expect([parse(given(most)), parse(given(most + 1))]).toEqual([true, false]);
    expect(parse(given(0))).toBe(_ === 'direct children');
  });

  it('N1 hold for a tree that grows by changes: 32 children, 12 levels, 256 members, 1 MiB', async () => {
    const wide = Array.from({ length: 31 }, (_, n) => ({ id: `w${n}` }));
    const { draft } = await begin({ workflow: aWorkflow('wide', { lead: { id: 'lead', children: wide } }) });
    const full = await addTo(draft, 'lead');
    await expect(addTo(full.draft, 'lead')).rejects.toMatchObject({ code: 'budget_exhausted' });

    const chain = (left: number): { id: string; children?: { id: string }[] } =>
      left === 1 ? { id: 'm1' } : { id: `m${left}`, children: [chain(left - 1)] };
    const deep = await begin({ workflow: aWorkflow('deep', { lead: chain(11) }) });
    const deepest = await addTo(deep.draft, 'm1');
    expect(await validate(deepest.draft)).toMatchObject({ is_valid: true });
    await expect(addTo(deepest.draft, 'member-1')).rejects.toMatchObject({ code: 'budget_exhausted' });

    const branch = (n: number, of: number) => ({
      id: `b${n}`,
      children: Array.from({ length: of }, (_, at) => ({ id: `b${n}-${at}` })),
    });
    const many = [...Array.from({ length: 14 }, (_, n) => branch(n, 16)), branch(14, 15)];
    const large = await begin({ workflow: aWorkflow('large', { lead: { id: 'lead', children: many } }) });
    expect(large.draft.members).toBe(255);
    const largest = await addTo(large.draft, 'b14');
    expect(await validate(largest.draft)).toMatchObject({ is_valid: true, draft: { members: 256 } });
    await expect(addTo(largest.draft, 'b14')).rejects.toMatchObject({ code: 'budget_exhausted' });

    const instruction = 'x'.repeat(limits.memberProse);
    const heavy = await begin({
      workflow: aWorkflow('heavy', {
        lead: {
          id: 'lead',
          children: Array.from({ length: 31 }, (_, n) => ({ id: `h${n}`, description: instruction, instruction })),
        },
      }),
    });
    expect(await validate(heavy.draft)).toMatchObject({ is_valid: true });
    await expect(addTo(heavy.draft, 'h0', { description: instruction, instruction })).rejects.toMatchObject({
      code: 'too_large',
    });
  });

  it('N1 hold for what is taken whole: 13 levels and 257 members are no draft, and more than 4,096 nodes keep one from being published', async () => {
    const chain = (left: number): { id: string; children?: { id: string }[] } =>
      left === 1 ? { id: 'm1' } : { id: `m${left}`, children: [chain(left - 1)] };
    await expect(begin({ workflow: aWorkflow('too-deep', { lead: chain(13) }) })).rejects.toMatchObject({
      code: 'budget_exhausted',
    });
    const rows = Array.from({ length: 16 }, (_, n) => ({
      id: `c${n}`,
      children: Array.from({ length: 15 }, (_, at) => ({ id: `c${n}-${at}` })),
    }));
    const crowd = aWorkflow('too-many', { lead: { id: 'lead', children: rows } });
    await expect(begin({ workflow: crowd })).rejects.toMatchObject({ code: 'budget_exhausted' });
    const provider = {
      kind: 'codex' as const,
      account: 'a',
      model: 'm',
      sandbox: { mode: 'read_only' as const, network: 'deny' as const },
    };
    const rich = (n: number) => ({
      id: `r${n}`,
      children: Array.from({ length: 25 }, (_, at) => ({ id: `r${n}-${at}`, title: 't', instruction: 'i', provider })),
    });
    const large = aWorkflow('too-rich', {
      lead: { id: 'lead', children: Array.from({ length: 9 }, (_, n) => rich(n)) },
    });
    const { draft } = await begin({ workflow: large });
    expect((await validate(draft)).issues).toMatchObject([{ message: 'More than 4096 nodes.' }]);
  });
});

describe('the library', () => {
  it('O1 tells of each workflow where it stands and whose it is, and finds drafts by their words', async () => {
    await farm.tx((tx) => farm.teams.workflows.insertStarters(tx));
    await begin({ workflow: aWorkflow('shelf-draft', { description: 'Shelf of drafts' }) });
    await farm.workflow('shelf-out');
    await farm.workflow('shelf-both');
    await begin({ workflow_id: 'shelf-both' });
    expect(await search({ query: 'SHELF' })).toMatchObject([
      { workflow_id: 'shelf-both', state: 'published_with_draft', provenance: 'user' },
      { workflow_id: 'shelf-draft', state: 'draft', description: 'Shelf of drafts', published_at: null },
      { workflow_id: 'shelf-out', state: 'published', revision_no: 1 },
    ]);
    expect(await search({ query: 'shelf', state: 'published' })).toMatchObject([{ workflow_id: 'shelf-out' }]);
    expect(await search({ query: 'incident-' })).toMatchObject([{ provenance: 'starter', state: 'published' }]);
    const page = await farm.database.reading((tx) =>
      farm.teams.workflows.search(tx, workflowSearch.input.parse({ query: 'shelf', limit: 1 })),
    );
    const cursor = page.next_cursor ?? '';
    expect(await search({ query: 'shelf', limit: 1, cursor })).toMatchObject([{ workflow_id: 'shelf-draft' }]);
    await expect(search({ query: 'other', cursor })).rejects.toMatchObject({ code: 'cursor_reset_required' });
  });

  it('O2 shows the history of a workflow page by page, newest first, and says which revision is current', async () => {
    for (const title of ['One', 'Two', 'Three', 'One']) await farm.workflow('history', { title });
    const first = await catalog('history', { revision_limit: 2 });
    expect(first).toMatchObject({ revision_no: 1, actions: ['edit', 'start_run', 'remove'], draft: null });
    expect(first.revisions?.items).toMatchObject([
      { revision_no: 3, current: false },
      { revision_no: 2, current: false },
    ]);
    const revision_cursor = first.revisions?.next_cursor ?? '';
    const rest = await catalog('history', { revision_limit: 2, revision_cursor });
    expect(rest.revisions).toMatchObject({ items: [{ revision_no: 1, current: true }], next_cursor: null });
    await expect(catalog('shelf-out', { revision_cursor })).rejects.toMatchObject({ code: 'cursor_reset_required' });
    const none = await get('history', { kind: 'catalog', should_include_revisions: false });
    expect(none).toMatchObject({ revisions: null });
  });

  it('O2 shows one member with the ids of those below it; no list and an empty one are told apart', async () => {
    const children = [
      { id: 'b', children: [] },
      { id: 'a', title: 'A' },
    ];
    await farm.workflow('parts', { children });
    await begin({ workflow_id: 'parts' });
    const of = (member_id: string) => get('parts', { kind: 'published', member_id });
    expect(await of('lead')).toMatchObject({ revision_no: 1, member: { id: 'lead' }, child_ids: ['b', 'a'] });
    expect(await of('b')).toMatchObject({ child_ids: [] });
    expect(await of('a')).toMatchObject({ member: { id: 'a', title: 'A' }, child_ids: null });
    expect(await get('parts', { kind: 'draft', member_id: 'b' })).toMatchObject({ child_ids: [] });
    await expect(of('c')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('O3 tells what a workflow may say and what this farm has of it', async () => {
    const offer = { name: 'claude-one', provider: 'claude' };
    farm.machines.push({ id: 'w', pool: 'default', labels: [], offers: [AccountOffer.parse(offer)] });
    const options = await farm.database.reading((tx) => farm.teams.workflows.options(tx));
    farm.machines.length = 0;
    expect(options).toMatchObject({ default_provider: 'scripted', tree: { members: 256, depth: 12, children: 32 } });
    expect(options.providers.map(({ kind, available }) => [kind, available])).toEqual([
      ['claude', true],
      ['codex', false],
      ['acp', false],
      ['scripted', true],
    ]);
    expect(options.providers.find(({ kind }) => kind === 'claude')?.efforts).not.toContain('none');
    expect(options.sandboxes).toHaveLength(4);
  });

  it('lets go of a workflow with its draft: revisions stay, Tasks run on, and the numbers go on', async () => {
    await farm.workflow('leaving', { title: 'One' });
    await begin({ workflow: aWorkflow('leaving', { description: 'Half done' }) });
    const { task } = await farm.alone({ workflow_id: 'leaving' });
    await remove('leaving');
    await expect(catalog('leaving')).rejects.toMatchObject({ code: 'not_found' });
    await expect(get('leaving')).rejects.toMatchObject({ code: 'not_found' });
    await expect(remove('leaving')).rejects.toMatchObject({ code: 'not_found' });
    await expect(farm.start({ workflow_id: 'leaving' })).rejects.toMatchObject({ code: 'not_found' });
    expect(await get('leaving', undefined, 1)).toMatchObject({ document: { lead: { title: 'One' } } });
    expect(await farm.view(task)).toMatchObject({ status: 'running' });
    await farm.workflow('leaving', { title: 'Two' });
    expect(await get('leaving')).toMatchObject({ revision_no: 2 });
  });

  it('keeps its times from going back when a draft goes', async () => {
    await farm.workflow('clocked');
    const { draft } = await begin({ workflow: aWorkflow('clocked', { description: 'Later' }) });
    await farm.sql(
      `update workflow_draft set updated_at = clock_timestamp() + interval '1 hour' where workflow = 'clocked'`,
    );
    const before = (await catalog('clocked')).updated_at;
    const changed = await addTo(draft, 'lead');
    expect((await catalog('clocked')).updated_at).toBe(before);
    await discard(changed.draft);
    expect((await catalog('clocked')).updated_at).toBe(before);
  });
});
