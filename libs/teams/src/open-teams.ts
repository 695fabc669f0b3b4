import { limits } from '#contracts';
import { placeAccounts } from './account/place-accounts.js';
import type { Teams } from './api.js';
import { cancelOffered, previewCancel } from './command-run/cancel-offered.js';
import { commandRunKind } from './command-run/command-run-kind.js';
import { freeRuns } from './command-run/free-runs.js';
import { readOutput } from './command-run/read-output.js';
import { getRun } from './command-run/view-runs.js';
import { dispatchKind } from './dispatch/dispatch-kind.js';
import { answerByLink } from './human-request/answer-link.js';
import { expireRequests } from './human-request/expire-requests.js';
import { lookByLink } from './human-request/look-by-link.js';
import { previewResponse, respond } from './human-request/respond.js';
import { snapshotKind } from './in-place/snapshot-kind.js';
import { askHuman } from './member/ask-human.js';
import { delegateWork } from './member/delegate-work.js';
import { readContext } from './member/read-context.js';
import { addMember, removeMember, updateMember } from './member/replan-team.js';
import { reportCheckpoint } from './member/report-checkpoint.js';
import { setPlan } from './member/set-plan.js';
import { startCommand } from './member/start-command.js';
import { diffTask } from './out/diff-task.js';
import { previewPush } from './out/preview-push.js';
import { pushTask } from './out/push-task.js';
import type { TeamParts } from './parts.js';
import { previewPolicy, setPolicy, showPolicy } from './policy/keep-policy.js';
import { openRoads } from './roads/open-roads.js';
import { addRepository, readWantedUrl } from './source/add-repository.js';
import { askOrigin, tellCheck } from './source/check-repository.js';
import { warnOfRef } from './source/find-base.js';
import { listRepositories } from './source/list-repositories.js';
import { expireMirrors } from './source/mirrors.js';
import { lockRepository, previewRemoval, removeRepository } from './source/remove-repository.js';
import { requireFilesAtStart } from './source/require-files.js';
import { attentionSql, taskSql } from './sql/teams.js';
import { followSteer } from './steer/follow-steer.js';
import { previewSteer, steerMember } from './steer/steer-member.js';
import { controlTask, previewControl } from './task/control-task.js';
import { expireSources } from './task/expire-sources.js';
import { lockTaskOnly } from './task/lock-task.js';
import { noteMissingMachines } from './task/missing-machines.js';
import { TaskPreparation } from './task/prepare-tasks.js';
import { readEvents, waitForNews } from './task/read-events.js';
import { prepareView } from './task/read-result.js';
import { readView } from './task/read-view.js';
import { retestLanes } from './task/retest-lanes.js';
import { searchTasks } from './task/search-tasks.js';
import { previewStart, startTask } from './task/start-task.js';
import { joinWaves } from './wave/join-waves.js';
import { WaveMerges } from './wave/wave-merges.js';
import { addWebhook, prepareWebhook } from './webhook/add-webhook.js';
import { forgetDeliveries } from './webhook/forget-deliveries.js';
import { listWebhooks } from './webhook/list-webhooks.js';
import { lockWebhook, previewWebhookRemoval, removeWebhook } from './webhook/remove-webhook.js';
import { testWebhook } from './webhook/test-webhook.js';
import { WebhookCourier } from './webhook/webhook-courier.js';
import { webhookKind } from './webhook/webhook-kind.js';
import { readAuthoringOptions } from './workflow/authoring-options.js';
import { beginDraft, lockBeginning, previewBeginning } from './workflow/begin-draft.js';
import { importWorkflow, lockImport, previewImport, searchWorkflows } from './workflow/catalogue.js';
import {
  discardDraft,
  editDraft,
  previewDiscard,
  previewEdit,
  previewUndo,
  undoDraft,
} from './workflow/change-draft.js';
import { lockDraft } from './workflow/draft-store.js';
import { getWorkflow } from './workflow/get-workflow.js';
import { lockWorkflow } from './workflow/publish.js';
import { previewDraftPublication, publishDraft, validateDraft } from './workflow/publish-draft.js';
import { previewWorkflowRemoval, removeWorkflow } from './workflow/remove-workflow.js';
import { insertStarters } from './workflow/starters.js';

/** The team runtime over its parts. Open the queue with `dispatchKind` next. */
export function openTeams(parts: TeamParts): Teams {
  const preparation = new TaskPreparation(parts);
  const courier = new WebhookCourier(parts);
  const merges = new WaveMerges(parts);
  return {
    dispatchKind: dispatchKind(parts),
    commandRunKind: commandRunKind(parts),
    webhookKind,
    snapshotKind: snapshotKind(parts),
    roads: openRoads(parts),
    workflows: {
      insertStarters,
      import: (tx, input) => importWorkflow(parts, tx, input),
      previewImport,
      lockImport,
      lock: lockWorkflow,
      search: searchWorkflows,
      get: getWorkflow,
      options: (tx) => readAuthoringOptions(parts, tx),
      remove: removeWorkflow,
      previewRemoval: previewWorkflowRemoval,
    },
    drafts: {
      async lock(tx, draft) {
        await lockDraft(tx, draft);
      },
      lockBeginning,
      begin: beginDraft,
      previewBeginning,
      edit: editDraft,
      previewEdit,
      undo: undoDraft,
      previewUndo,
      discard: discardDraft,
      previewDiscard,
      validate: (tx, input) => validateDraft(parts, tx, input),
      publish: (tx, input) => publishDraft(parts, tx, input),
      previewPublication: previewDraftPublication,
    },
    policy: {
      show: showPolicy,
      set: (tx, by, policy) => setPolicy(parts, tx, by, policy),
      preview: previewPolicy,
    },
    repositories: {
      prepareAdd: (registrar, input) => readWantedUrl(parts, registrar, input),
      add: (tx, registrar, input, url) => addRepository(parts, tx, registrar, input, url),
      prepareCheck: (name, signal) => askOrigin(parts, name, signal),
      check: tellCheck,
      list: listRepositories,
      remove: (tx, name) => removeRepository(parts, tx, name),
      lock: lockRepository,
      previewRemoval,
    },
    tasks: {
      async prepareStart({ principal }, input) {
        await requireFilesAtStart(parts, principal, input);
        return warnOfRef(parts, input);
      },
      previewStart,
      start: (tx, actor, input, warned) => startTask(parts, tx, actor, input, warned),
      prepareView: (input) => prepareView(parts, input),
      get: (tx, input, prepared) => readView(parts, tx, input, prepared),
      search: searchTasks,
      lock: lockTaskOnly,
      control: (tx, actor, input) => controlTask(parts, tx, actor, input),
      previewControl,
      steer: (tx, actor, input) => steerMember(parts, tx, actor, input),
      previewSteer,
      followSteer: (input, signal, atMostMs) => followSteer(parts, input, signal, atMostMs),
      waitForNews: (input, signal) => waitForNews(parts, input, signal),
      events: readEvents,
      async counts(tx) {
        const rows = await tx.all(taskSql.counts);
        const count = (status: string): number => rows.find((row) => row.status === status)?.count ?? 0;
        return {
          running: count('running') + count('preparing'),
          paused: count('paused'),
          completed: count('completed'),
          cancelled: count('cancelled'),
        };
      },
      async attention(tx, limit) {
        return (await tx.all(attentionSql.all, { limit })).map(({ task, ...item }) => ({ task_id: task, ...item }));
      },
    },
    requests: {
      respond: (tx, actor, input) => respond(parts, tx, actor, input),
      previewResponse,
      look: lookByLink,
      answerByLink: (tx, bearer, input) => answerByLink(parts, tx, bearer, input),
    },
    webhooks: {
      prepareAdd: (input) => prepareWebhook(parts, input),
      add: (tx, actor, input, url) => addWebhook(parts, tx, actor, input, url),
      list: listWebhooks,
      async lock(tx, name) {
        await lockWebhook(tx, name);
      },
      previewRemoval: previewWebhookRemoval,
      remove: (tx, name) => removeWebhook(parts, tx, name),
      test: (name, signal) => testWebhook(parts, name, signal),
    },
    commands: {
      get: getRun,
      cancel: (tx, actor, input) => cancelOffered(parts, tx, actor, input),
      previewCancel,
      readOutput: (input) => readOutput(parts, input),
    },
    out: {
      diff: (input) => diffTask(parts, input),
      previewPush,
      push: (pusher, input, signal) => pushTask(parts, pusher, input, signal),
    },
    members: {
      context: (tx, caller) => readContext(parts, tx, caller),
      setPlan: (tx, caller, input) => setPlan(parts, tx, caller, input),
      checkpoint: (tx, caller, input) => reportCheckpoint(parts, tx, caller, input),
      delegate: (tx, caller, input) => delegateWork(parts, tx, caller, input),
      askHuman: (tx, caller, input) => askHuman(parts, tx, caller, input),
      startCommand: (tx, caller, input) => startCommand(parts, tx, caller, input),
      addChild: (tx, caller, input) => addMember(parts, tx, caller, input),
      updateChild: (tx, caller, input) => updateMember(parts, tx, caller, input),
      removeChild: (tx, caller, input) => removeMember(parts, tx, caller, input),
    },
    sweeps: {
      prepareTasks: (atMostMs = limits.sweepMs) => preparation.look(atMostMs),
      retestLanes: () => retestLanes(parts),
      joinWaves: () => joinWaves(parts, merges),
      mergeAhead: (wave) => merges.lookAhead(wave),
      expireRequests: () => expireRequests(parts),
      freeRuns: (takeWork) => freeRuns(parts, takeWork),
      noteMissingMachines: (live) => noteMissingMachines(parts, live),
      placeAccounts: async () => placeAccounts(parts, (await parts.machines?.(parts.database)) ?? []),
      deliverWebhooks: (atMostMs = limits.sweepMs) => courier.look(atMostMs),
      forgetDeliveries: () => forgetDeliveries(parts),
      expireSources: () => expireSources(parts),
      expireMirrors: () => expireMirrors(parts),
    },
    async close() {
      await Promise.all([preparation.close(), courier.close(), merges.close()]);
    },
  };
}
