import { type HumanRequestView, type TaskView, taskGet } from '#contracts';
import type { FarmClient } from '../../client/farm-client.js';

/** The Task with what its overview cut and a person reads whole: the Result, and what is asked of them. */
export async function wholeTask(client: FarmClient, view: TaskView, signal: AbortSignal): Promise<TaskView> {
  return {
    ...view,
    result: await wholeResult(client, view, signal),
    human_requests: await Promise.all(
      view.human_requests.map((each) => (each.status === 'open' ? wholeRequest(client, view, each, signal) : each)),
    ),
  };
}

async function wholeResult(client: FarmClient, view: TaskView, signal: AbortSignal): Promise<TaskView['result']> {
  const { task_id, result, truncated } = view;
  if (result === null || !truncated.includes('result')) return result;
  const answer = await client.call(taskGet, { task_id, selection: { kind: 'result' } }, { signal });
  return answer.selection === 'result' ? answer.result : result;
}

/** One request of the overview with all its questions and files. */
async function wholeRequest(
  client: FarmClient,
  { task_id, truncated }: Pick<TaskView, 'task_id' | 'truncated'>,
  listed: HumanRequestView,
  signal: AbortSignal,
): Promise<HumanRequestView> {
  if (!truncated.includes('human_requests')) return listed;
  return fetchRequest(client, task_id, listed.request_id, signal);
}

/** @throws RemoteError `not_found` */
export async function fetchRequest(
  client: FarmClient,
  task_id: string,
  request_id: string,
  signal: AbortSignal,
): Promise<HumanRequestView> {
  const asked = { task_id, selection: { kind: 'human_request', request_id } };
  const answer = await client.call(taskGet, asked, { signal });
  if (answer.selection !== 'human_request') throw new Error('the farm answered another selection than was asked for');
  const request = answer.human_request;
  if (request.files_total === 0) return request;
  const files = await client.call(
    taskGet,
    { task_id, selection: { ...asked.selection, kind: 'human_request_files' } },
    { signal },
  );
  return files.selection === 'human_request_files' ? { ...request, files: files.files } : request;
}
