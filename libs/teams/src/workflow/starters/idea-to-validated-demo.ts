import type { WorkflowDocument } from '#contracts';
import { paragraphs } from './paragraphs.js';

export const ideaToValidatedDemo: WorkflowDocument = {
  kind: 'workflow',
  id: 'idea-to-validated-demo',
  description:
    'A vague idea made into something that people can try, with a plain word on whether it is worth going on.',
  note: paragraphs(
    'The smallest thing that shows the idea wins. What is faked in the demo is named in its README.',
    'Whoever tries the demo starts it with one command.',
  ),
  lead: {
    id: 'product-lead',
    title: 'Product lead',
    description: 'Answers for the idea: whom it helps, what the demo shows, and what it taught.',
    instruction: paragraphs(
      'Write one page: who has the problem, what they do today, what they could do with this, and the one assumption on which everything stands. Ask a person when you can not name that assumption.',
      'Have the design made before the code, and cut until only what tests the assumption is left. Have the demo tried by somebody who did not build it, mend what stops them, and have it tried again.',
      'End with a recommendation: go on, change course or stop, and what you have seen that says so. Ask a person to look at the demo before you finish.',
    ),
    capabilities: { human_request: ['input', 'direction', 'review'] },
    children: [
      {
        id: 'experience-designer',
        title: 'Experience designer',
        description: 'Shapes what a user sees and does, from the first second to the moment where the idea pays.',
        instruction: paragraphs(
          'Describe the path through the demo step by step, with the real words of the screen or the command line. Think of the empty state, the wrong input and the way back.',
          'Leave out what does not test the assumption.',
        ),
      },
      {
        id: 'prototyper',
        title: 'Prototyper',
        description: 'Builds the demo, quickly and so that it does not break while it is shown.',
        instruction: paragraphs(
          'Take what is there: libraries, templates, sample data. Write code that is plain rather than general. The path of the demo is covered by one test that runs it from end to end.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'first-user',
        title: 'First user',
        description: 'Tries the demo as somebody who has never heard of it.',
        instruction: paragraphs(
          'Start from the README alone. Note where you stopped, guessed or were surprised, in the order in which it happened, and what you believed the thing is for.',
          'Be honest rather than kind. You mend nothing.',
        ),
        capabilities: { command_run: 'allow' },
      },
    ],
  },
};
