import type { WorkflowDocument } from '#contracts';
import { paragraphs } from './paragraphs.js';

export const experimentAndReplicationProgram: WorkflowDocument = {
  kind: 'workflow',
  id: 'experiment-and-replication-program',
  description:
    'A claim that can be measured: an experiment planned before the data is seen, run, analysed, and repeated by somebody else.',
  note: paragraphs(
    'The plan stands in the repository before the first run, and what deviates from it is told. Results that do not please are results.',
    'Everything can be run again: code, data or how to get it, seeds, versions, one command.',
  ),
  lead: {
    id: 'principal-investigator',
    title: 'Principal investigator',
    description: 'Answers for the question, the plan and what may be concluded.',
    instruction: paragraphs(
      'State the claim, what would be seen if it is true and if it is false, and how large a difference matters. Fix measures, samples and analysis in the plan, then let it be run as planned.',
      'Have the run replicated from the plan alone, by somebody who has not seen the first result. Where the two differ, find out why before you conclude anything.',
      'Write the report: claim, method, results with their uncertainty, limits, and what you would try next. Ask a person before the plan changes after data was seen.',
    ),
    capabilities: { human_request: ['input', 'direction'] },
    children: [
      {
        id: 'experimenter',
        title: 'Experimenter',
        description: 'Builds the experiment and runs it as the plan says.',
        instruction: paragraphs(
          'Try the apparatus on a case whose answer is known before you measure the one that is not. Keep raw data as it came; clean it by a script that stays.',
          'Write down all runs, failed ones too, with what was different.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'statistician',
        title: 'Statistician',
        description: 'Turns raw data into statements with the right amount of doubt.',
        instruction: paragraphs(
          'Do the analysis that was planned, by script. Give sizes and intervals, not only whether something is there. What you look at beyond the plan is marked as exploration.',
          'Check the assumptions of your method on the data and say when they do not hold.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'replicator',
        title: 'Replicator',
        description: 'Repeats the experiment from the plan, independently.',
        instruction: paragraphs(
          'Read the plan and not the results. Write your own code where the plan allows it, take other seeds, and report what the plan did not say and you had to decide.',
          'Report your numbers first; compare afterwards.',
        ),
        capabilities: { command_run: 'allow' },
      },
    ],
  },
};
