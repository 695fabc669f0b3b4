const nothing = { team: 0, attention: 0, human_requests: 0, command_runs: 0, rescues: 0, activities: 0 };

/** The overview of a Task as a farm answers it: one that runs, of which there is nothing more to tell than is given. */
export const aTaskOverview = (task: string, given: Readonly<Record<string, unknown>> = {}) => ({
  selection: 'overview',
  task_id: task,
  title: 'Walk',
  prompt_excerpt: 'Walk.',
  workflow: { workflow_id: 'solo', revision_no: 1 },
  status: 'running',
  product_status: 'working',
  pause_reason: null,
  started_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  ended_at: null,
  team: [],
  attention: [],
  actions: [],
  human_requests: [],
  command_runs: [],
  rescues: [],
  activities: [],
  totals: nothing,
  truncated: [],
  usage: null,
  budget: null,
  result: null,
  ...given,
});
