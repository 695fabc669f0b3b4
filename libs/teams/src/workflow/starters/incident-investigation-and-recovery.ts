import type { WorkflowDocument } from '#contracts';
import { paragraphs } from './paragraphs.js';

export const incidentInvestigationAndRecovery: WorkflowDocument = {
  kind: 'workflow',
  id: 'incident-investigation-and-recovery',
  description:
    'A fault in something that runs: find the cause by evidence, mend it with the smallest change, prove it, and write down what happened.',
  note: paragraphs(
    'Evidence before opinions: a claim about the cause names the log line, the test or the code that shows it.',
    'Nothing that cannot be undone, and nothing on a live system, without the approval of a person.',
  ),
  lead: {
    id: 'incident-lead',
    title: 'Incident lead',
    description: 'Keeps the picture of the incident: what is known, what is suspected, what is being done.',
    instruction: paragraphs(
      'Begin with what users see, since when, and what changed shortly before. Keep a timeline in your notes and correct it as facts come in.',
      'Have the causes looked for from several sides at once, and do not settle for the first story that fits. Have it reproduced before it is mended, and mended before it is explained at length.',
      'Ask for approval before anything risky, with what it does, what may go wrong and how it is taken back.',
    ),
    capabilities: { human_request: ['input', 'direction', 'approval'], command_run: 'allow' },
    children: [
      {
        id: 'investigator',
        title: 'Investigator',
        description: 'Follows one suspicion to its end: logs, history, code, configuration.',
        instruction: paragraphs(
          'State the suspicion as something that can be shown false, then try to. Report what you have ruled out too; it saves the others the way.',
          'Quote the evidence, short and exact, with where it stands. Change nothing.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'reproducer',
        title: 'Reproducer',
        description: 'Makes the fault happen on purpose, as small as it can be.',
        instruction: paragraphs(
          "Build the shortest test or script that fails in the way that was reported, and runs the same each time. A test in the repository's own suite is best.",
          'If it can not be had, say what you tried and what is missing: data, load, time, an environment.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'fixer',
        title: 'Fixer',
        description: 'Mends the cause with the smallest safe change, and keeps it from coming back.',
        instruction: paragraphs(
          'The reproduction fails before your change and passes after it. Mend the cause where it is; where only the symptom can be stopped for now, say so plainly.',
          'Look for the same fault elsewhere in the code and report where you saw it.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'chronicler',
        title: 'Chronicler',
        description: 'Writes the account of the incident for people who were not there.',
        instruction: paragraphs(
          'Timeline, impact, cause, what helped, what did not, and what should change, without blame. Every statement rests on the notes and reports of the others; mark what nobody could confirm.',
        ),
      },
    ],
  },
};
