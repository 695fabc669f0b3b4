import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { errorCodes, exitCodeOf, isFarmErrorCode } from '#contracts';
import { type AnsweringFarm, anAnsweringFarm, problem, runCli } from '../../../../test/support/answering-farm.js';

/** Scripts rely on these numbers: a change here is a change of the product. */
const frozen = {
  1: ['capture_failed', 'data_version', 'internal', 'invalid_output', 'misconfigured', 'plugin_failed', 'port_taken'],
  2: [
    'idempotency_key_invalid',
    'invalid_input',
    'invalid_request_shape',
    'invalid_task_path',
    'invalid_workflow',
    'source_refused',
    'too_large',
    'webhook_refused',
    'workspace_too_large',
  ],
  3: ['not_found', 'unknown_operation'],
  4: [
    'above_ceiling',
    'capability_rejected',
    'csrf_refused',
    'illegal_caller',
    'illegal_target_relation',
    'not_allowed',
    'not_available',
    'not_confirmed',
    'password_change_required',
    'policy_refused',
    'scope_mismatch',
    'send_refused',
    'ticket_invalid',
    'unauthenticated',
    'wrong_fingerprint',
  ],
  5: ['confirmation_required'],
  6: [
    'already_done',
    'awaiting_approval',
    'boundary_precondition_failed',
    'budget_exhausted',
    'changed_since_proposal',
    'commit_refused',
    'confirmation_invalid',
    'conflict',
    'cursor_reset_required',
    'handover_refused',
    'idempotency_mismatch',
    'identity_in_use',
    'illegal_state',
    'not_resumable',
    'stale_assignment',
    'stale_dispatch',
    'stale_lease',
    'stale_team_revision',
  ],
  7: [
    'cancelled',
    'disk_full',
    'isolation_unavailable',
    'source_unavailable',
    'timeout',
    'too_many_pending',
    'too_many_requests',
    'unavailable',
    'webhook_failed',
    'workspace_unavailable',
  ],
};

describe('exit codes', () => {
  it('A9.4 gives every code the number that is frozen here', () => {
    const codes = Object.entries(errorCodes).map(([code, { exit }]) => ({ code, exit }));
    const byExit = Object.groupBy(codes, ({ exit }) => exit);
    const found = Object.fromEntries(
      Object.entries(byExit).map(([exit, all = []]) => [exit, all.map(({ code }) => code).sort()]),
    );
    expect(found).toEqual(frozen);
  });

  it('A9.3 ends with 1 for a code without an entry', () => {
    expect(exitCodeOf('zz')).toBe(1);
    expect(exitCodeOf('constructor')).toBe(1);
  });
});

describe('the end of a command', () => {
  let farm: AnsweringFarm;
  let code = '';
  const env = () => ({ LONGSHORE_CREDENTIAL: farm.credential });

  beforeAll(async () => {
    farm = await anAnsweringFarm(() => problem(code, isFarmErrorCode(code) ? errorCodes[code].status : 418));
  });
  afterAll(() => farm.close());

  it('T21 is the frozen number for every code that a farm can answer, as text and as JSON', async () => {
    for (const [exit, codes] of Object.entries({ ...frozen, 1: [...frozen[1], 'of_a_later_version'] })) {
      for (const each of codes) {
        code = each;
        const asText = await runCli(['status'], { env: env() });
        const asJson = await runCli(['status', '--json'], { env: env() });
        expect([each, asText.exit, asJson.exit]).toEqual([each, Number(exit), Number(exit)]);
        expect([asText.stdout, JSON.parse(asJson.stdout).error.code]).toEqual(['', each]);
      }
    }
  });

  it('T21 is 0 for help and the version, 2 for what no farm needs to be asked, 7 where none answers', async () => {
    const ends = async (...words: string[]) => (await runCli(words, { env: env() })).exit;
    expect(await ends('--help')).toBe(0);
    expect(await ends('--version')).toBe(0);
    expect(await ends('queue', '--help')).toBe(0);
    expect(await ends()).toBe(2);
    expect(await ends('queue')).toBe(2);
    expect(await ends('queue', 'list', '--bad')).toBe(2);
    expect(await ends('queue', 'list', '--state', 'bad')).toBe(2);
    expect((await runCli(['status'])).exit).toBe(7);
  });
});
