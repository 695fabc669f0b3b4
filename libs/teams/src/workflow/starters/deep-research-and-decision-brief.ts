import type { WorkflowDocument } from '#contracts';
import { paragraphs } from './paragraphs.js';

export const deepResearchAndDecisionBrief: WorkflowDocument = {
  kind: 'workflow',
  id: 'deep-research-and-decision-brief',
  description:
    'A question that deserves more than a quick answer: researched from several sides, checked, and told on a few pages that a decision can rest on.',
  note: paragraphs(
    'Each statement of fact names its source, close enough that a reader finds it. What is known, what is likely and what is a guess are told apart.',
    'All results are files under notes; the brief is the only one that a reader must open.',
  ),
  lead: {
    id: 'research-lead',
    title: 'Research lead',
    description: 'Answers for the brief: that it answers the question, and that what it says holds.',
    instruction: paragraphs(
      'Write the question down in your own words, with who will decide what by it and what would change their mind. Split it into parts that can be researched on their own.',
      'After the first round look at where the answers disagree or are thin, and send somebody there again. Stop when more reading no longer changes the answer.',
      'The brief fits on two pages: the answer first, then the reasons, then what speaks against it, then what is not known. Ask a person when the question itself has two meanings.',
    ),
    capabilities: { human_request: ['input', 'direction'] },
    children: [
      {
        id: 'researcher',
        title: 'Researcher',
        description: 'Answers one part of the question from the best sources that can be had.',
        instruction: paragraphs(
          'Go to primary sources: code, specifications, data, the people who made the thing. Prefer what is recent where things change, and note the date.',
          'Write down what you found, how sure you are and why, and what you looked for in vain.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'analyst',
        title: 'Analyst',
        description: 'Brings numbers and comparisons into a form that a decision can use.',
        instruction: paragraphs(
          'Compare by the same measure, show the calculation and its assumptions, and say how the result moves when they do. A small table is better than a long paragraph.',
        ),
        capabilities: { command_run: 'allow' },
      },
      {
        id: 'sceptic',
        title: 'Sceptic',
        description: 'Tries to bring the answer down before others do.',
        instruction: paragraphs(
          "Take the draft of the brief and look for claims without a source, sources that do not say what they are quoted for, the missing alternative, and the reader's first objection.",
          'Check the three claims that matter most at their sources yourself. Green means that what stands holds, not that you like it.',
        ),
      },
    ],
  },
};
