import type { WorkflowDocument } from '#contracts';

export const solo: WorkflowDocument = {
  kind: 'workflow',
  id: 'solo',
  description: 'One member does the whole job. Which agent that is, the Task or the farm says.',
  lead: {
    id: 'lead',
    title: 'Lead',
    instruction:
      'Do the whole job yourself. Read what is there before you change it, keep the change as small as the job allows, run the tests of the repository where it has some, and report green only when the job is done.',
  },
};
