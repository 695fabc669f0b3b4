import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workflowDraftCreate, workflowDraftDiscard, workflowGet, workflowRemove } from '#contracts';
import { aController, codeOf, type TestController } from '../../../../../test/support/a-controller.js';
import { runCli } from '../../../../../test/support/answering-farm.js';
import { tempDir } from '../../../../../test/support/temp-dir.js';

let farm: TestController;
beforeAll(async () => {
  farm = await aController();
});
afterAll(() => farm.close());

const cli = async (...words: string[]) => {
  const ran = await runCli(['workflow', ...words, '--json'], { env: { LONGSHORE_DATA: farm.data } });
  return { exit: ran.exit, answer: JSON.parse(ran.stdout) };
};
const asFile = (value: unknown): string => {
  const file = join(tempDir('input'), 'input.json');
  writeFileSync(file, JSON.stringify(value));
  return file;
};

describe('drafts of workflows at the command line', () => {
  it('go from what is published over changes, an undo and a check to the next revision', async () => {
    const begun = (await cli('draft-create', 'production-feature-delivery')).answer.draft;
    expect(begun).toMatchObject({ base_revision_no: 1, members: 4 });
    const operation = { kind: 'add_member', parent_member_id: 'delivery-lead', member: { title: 'Writer' } };
    const added = await cli('draft-edit', begun.draft_id, begun.etag, '--input', asFile({ operation }));
    expect(added.answer.accepted_change).toMatchObject({ member_id: 'member-1' });
    const stale = await cli('draft-edit', begun.draft_id, begun.etag, '--input', asFile({ operation }));
    expect([stale.exit, stale.answer.error.code]).toEqual([6, 'conflict']);
    expect(stale.answer.error.message).toContain(added.answer.draft.etag);

    const { draft, undo_receipt } = added.answer;
    const undone = (await cli('draft-undo', draft.draft_id, draft.etag, undo_receipt)).answer.draft;
    expect(undone.members).toBe(4);
    const note = { operation: { kind: 'update_workflow', patch: { note: 'Ours now.' } } };
    const noted = (await cli('draft-edit', undone.draft_id, undone.etag, '--input', asFile(note))).answer.draft;
    expect((await cli('draft-validate', noted.draft_id)).answer).toMatchObject({ is_valid: true, issues: [] });
    const published = await cli('draft-publish', noted.draft_id, noted.etag);
    expect(published).toMatchObject({ exit: 0, answer: { revision_no: 2, created: true } });
    const shown = await farm.admin.call(workflowGet, { workflow_id: 'production-feature-delivery' });
    expect(shown).toMatchObject({ revision_no: 2, document: { note: 'Ours now.' } });
  });

  it('A6.1 are thrown away at once; a workflow is removed when it is meant', async () => {
    const { draft } = await farm.admin.call(workflowDraftCreate, { workflow_id: 'idea-to-validated-demo' });
    await farm.admin.call(workflowDraftDiscard, { draft_id: draft.draft_id, etag: draft.etag });
    const asked = await farm.admin.ask('workflow_remove', { workflow_id: 'idea-to-validated-demo' });
    expect([asked.status, codeOf(asked)]).toEqual([409, 'confirmation_required']);
    expect(asked.body).toMatchObject({
      proposal: {
        count: 1,
        changes: [{ id: 'idea-to-validated-demo', before: { state: 'published', revision_no: 1 }, after: null }],
      },
    });
    await farm.admin.call(workflowRemove, { workflow_id: 'idea-to-validated-demo' }, { confirm: true });
    expect((await cli('get', 'idea-to-validated-demo')).exit).toBe(3);
    expect((await cli('remove', 'idea-to-validated-demo', '--yes')).exit).toBe(3);
  });

  it('stand beside the library, import and export in one group', async () => {
    const words = [
      'search',
      'get',
      'remove',
      'draft-create',
      'draft-edit',
      'draft-publish',
      'import',
      'export',
      'schema',
    ];
    const { stdout } = await runCli(['workflow', '--help']);
    for (const word of words) expect(stdout).toContain(`  ${word}`);
  });

  it('N1 are refused, and cost nobody anything, when a tree is thousands of members deep', async () => {
    for (const depth of [30, 1_000, 40_000]) {
      const lead = `${'{"id":"a","children":['.repeat(depth)}{"id":"a"}${']}'.repeat(depth)}`;
      const body = `{"input":{"workflow":{"kind":"workflow","id":"w","description":"d","lead":${lead}}}}`;
      const answer = await farm.fetch('/v1/operations/workflow_draft_create', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${farm.admin.token}` },
      });
      expect([409, 422]).toContain(answer.status);
      expect(['budget_exhausted', 'invalid_input']).toContain(codeOf(answer));
    }
  });
});
