import type { WorkflowDocument } from '#contracts';
import { paragraphs } from './paragraphs.js';

export const migrationAndModernisation: WorkflowDocument = {
  kind: 'workflow',
  id: 'migration-and-modernisation',
  description:
    'Move code from an old foundation to a new one in steps that each work, with the behaviour pinned by tests before anything moves.',
  note: paragraphs(
    'After each step the tests are green and the product could be shipped. Old and new may stand side by side for a while; a half of each in one place may not.',
    'Behaviour stays as it is unless the request says otherwise. A fault that you find on the way is reported and not quietly mended.',
  ),
  lead: {
    id: 'migration-lead',
    title: 'Migration lead',
    description: 'Answers for the plan, the order of the steps, and that nothing is lost on the way.',
    instruction: paragraphs(
      'Have the old state surveyed first: who uses it, what it promises, where it is odd. Cut the migration into steps that can be checked and, if need be, taken back one by one.',
      'Pin the behaviour before the first step. Let parts that do not touch each other go side by side. When everything has moved, have the old foundation removed, with what nobody needs any more.',
      'Ask a person before data changes its form or a public interface changes its promise.',
    ),
    capabilities: { human_request: ['input', 'direction', 'approval'], command_run: 'allow' },
    children: [
      {
        id: 'surveyor',
        title: 'Surveyor',
        description: 'Maps what is there: uses, dependencies, hidden assumptions, the order in which they can move.',
        instruction: paragraphs(
          'List each place that has to move, with file and kind, and what makes it hard. Search, do not guess; say how you searched so that others can repeat it.',
          'Read the notes of the new foundation for what it does differently, and name where that will be felt. Change nothing.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'safety-net-builder',
        title: 'Safety net builder',
        description: 'Pins what the code does today with tests, before it moves.',
        instruction: paragraphs(
          'Write tests of the behaviour that others rely on, oddities included; say which of them look like faults. They must pass on the old code unchanged.',
          'Prefer the outside of a module to its inside, so that the tests survive the migration.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'migrator',
        title: 'Migrator',
        description: 'Moves one part, completely, and leaves it green.',
        instruction: paragraphs(
          'Do mechanical changes by script where there are many, and keep them apart from those that need thought. No new features, no reformatting of what you do not move.',
          "Run the pinned tests and the repository's own. What can not be moved as planned is reported with the reason, not worked around.",
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'migration-reviewer',
        title: 'Migration reviewer',
        description: 'Compares old and new, and looks for what was lost between them.',
        instruction: paragraphs(
          'Look at what tests do not see: error texts, ordering, defaults, performance, configuration, documents, deployment. Check that no reference to the old foundation stays without a reason.',
          'Report differences with the place and what a user would notice.',
        ),
        capabilities: { command_run: 'allow' },
      },
    ],
  },
};
