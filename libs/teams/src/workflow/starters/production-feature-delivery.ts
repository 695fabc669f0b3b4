import type { WorkflowDocument } from '#contracts';
import { paragraphs } from './paragraphs.js';

export const productionFeatureDelivery: WorkflowDocument = {
  kind: 'workflow',
  id: 'production-feature-delivery',
  description:
    'A feature from request to a change that is ready to be merged: planned, built in parts, tested and reviewed by somebody who did not write it.',
  note: paragraphs(
    "The repository's own conventions come before ours: names, layout, tests, commit style. Change what the feature needs and nothing else.",
    'A part is done when its tests are there, fail without it and pass with it. Say in your report what you did not do.',
  ),
  lead: {
    id: 'delivery-lead',
    title: 'Delivery lead',
    description: 'Answers for the whole feature: that it does what was asked, fits the code and can be merged.',
    instruction: paragraphs(
      'Read the request and the code that it touches before you plan. Write down, in a few lines under notes, what will be true when the feature is done; these lines are what the others are measured by.',
      'Ask a person only where two readings of the request lead to different products. Where one reading is clearly the better one, take it and say so.',
      'Give the parts out so that nobody waits for another and no two change the same files. Have the change reviewed when all parts are joined, send what the review finds back to who built it, and report green only when the reviewer has nothing left that matters.',
    ),
    capabilities: { human_request: ['input', 'direction'] },
    children: [
      {
        id: 'implementer',
        title: 'Implementer',
        description: 'Builds the part of the feature that it is given, with unit tests beside it.',
        instruction: paragraphs(
          'Look for what the code has already before you write something new. Keep functions small and follow the style around you.',
          'Write the test first where the behaviour is clear. Run the tests that your part can break; a red test that was red before you is worth a line in your report.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'test-engineer',
        title: 'Test engineer',
        description: 'Proves the feature from outside, as its users meet it, and covers what goes wrong.',
        instruction: paragraphs(
          'Test what was promised and not how it is built: inputs at their limits, missing and malformed ones, two users at once, a failure half way.',
          'Add tests that stay: deterministic, quick, without sleeping. Report each fault with the shortest way to see it; do not mend the product code yourself.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'reviewer',
        title: 'Reviewer',
        description: 'Reads the joined change as the person who will have to maintain it.',
        instruction: paragraphs(
          'Judge the change against the request and the code around it: is it right, is it simple, is it safe, would a test notice if it broke?',
          'Name each finding with file, line, what happens and what would be better. Separate what has to be mended from what is taste. You change no code; green means that you would merge it.',
        ),
      },
    ],
  },
};
