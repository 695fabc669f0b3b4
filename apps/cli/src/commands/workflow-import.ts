import type { Command } from 'commander';
import { workflowImport } from '#contracts';
import { drawTable } from '../output/table.js';
import { plainLine } from '../output/terminal-text.js';
import { CommandFailed, commandAt, type Frame, runs } from './frame.js';
import { readNamedText } from './read-document.js';

const refused = 2;

/** `workflow import FILE`: all that is wrong at once, each with its line. */
export function addWorkflowImport(program: Command, frame: Frame): void {
  const command = commandAt(program, ['workflow', 'import'])
    .description(workflowImport.summary)
    .argument('<file>', 'YAML or JSON; `-` for stdin')
    .option('--yes', 'do it also where it would first only say what it would do (exit code 5)');
  runs<{ yes?: boolean }>(command, frame, async (run, { yes }, [file = '-']) => {
    const { screen, surroundings } = run;
    const document = await readNamedText(file, surroundings);
    const answer = await (await run.client()).call(
      workflowImport,
      { document },
      { confirm: yes === true, signal: surroundings.signal },
    );
    screen.answer(answer);
    if (answer.accepted) {
      const { workflow_id, revision_no, created } = answer;
      screen.show(
        `${workflow_id} revision ${revision_no} ${created ? 'published' : 'was published before: selected again'}`,
      );
      for (const warning of answer.warnings ?? [])
        screen.say(`${screen.tint.yellow('warning')}: ${plainLine(warning)}`);
      return;
    }
    const rows = answer.issues.map(({ line, column, path, message }) => [
      [file, line, column].filter((part) => part !== null).join(':'),
      path,
      message,
    ]);
    screen.show(drawTable(['where', 'path', 'what'], rows, screen.paint));
    screen.say(
      `${rows.length} ${rows.length === 1 ? 'thing is' : 'things are'} wrong with this workflow; nothing was stored.`,
    );
    throw new CommandFailed(refused);
  });
}
