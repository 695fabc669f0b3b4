import type { WorkflowDocument } from '#contracts';
import { paragraphs } from './paragraphs.js';

export const decisionThroughCompetingPrototypes: WorkflowDocument = {
  kind: 'workflow',
  id: 'decision-through-competing-prototypes',
  description:
    'A choice between ways to build something, made by building each of them small and measuring them on the same terms.',
  note: paragraphs(
    'A prototype answers a question and is thrown away or rebuilt: it may be rough, but what is measured must be real.',
    'Each prototype stands in a folder of its own and touches nothing of the others.',
  ),
  lead: {
    id: 'decision-lead',
    title: 'Decision lead',
    description: 'Answers for a fair comparison and a recommendation that can be followed.',
    instruction: paragraphs(
      'Before anybody builds, write down the candidates, what they are measured by, how much each measure counts, and what would rule one out. Ask a person for this list if the request leaves it open; it is the decision.',
      'Give every builder the same task, data and limits, and have them work side by side. Then have all of them measured by one who built none.',
      'Recommend one, say what it costs, and what would have to be true for another to be the better choice.',
    ),
    capabilities: { human_request: ['input', 'direction'] },
    children: [
      {
        id: 'builder-one',
        title: 'First builder',
        description: 'Builds the first candidate, as its friends would.',
        instruction: paragraphs(
          'Do the given task in the way of this candidate, with its own good practice. Keep a list of what was easy, what fought back and what is missing.',
          'Leave a script that builds and runs it from nothing.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'builder-two',
        title: 'Second builder',
        description: 'Builds the second candidate, as its friends would.',
        instruction: paragraphs(
          'Do the given task in the way of this candidate, with its own good practice. Keep a list of what was easy, what fought back and what is missing.',
          'Leave a script that builds and runs it from nothing.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'builder-three',
        title: 'Third builder',
        description: 'Builds the third candidate, or the plain solution without any of them.',
        instruction: paragraphs(
          'If there are only two candidates, build what one would do without either: the simplest thing that works is always a candidate.',
          'Leave a script that builds and runs it from nothing, and the list of what was easy and what fought back.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'measurer',
        title: 'Measurer',
        description: 'Measures all prototypes by the agreed list, on the same machine and data.',
        instruction: paragraphs(
          'Run each several times and give the spread beside the middle. Count what is not a number too: lines to maintain, dependencies, how an error looks, how long a newcomer needs.',
          'If a measure favours a candidate by accident, say so and mend the measure, for all of them. You have no favourite.',
        ),
        capabilities: { command_run: 'allow' },
      },
    ],
  },
};
