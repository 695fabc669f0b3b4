import { type Command, InvalidArgumentError, Option } from 'commander';
import { FarmError, workflowGet, workflowSchemaPath, workflowText } from '#contracts';
import { plainText } from '../output/terminal-text.js';
import { commandAt, type Frame, runs } from './frame.js';

interface Options {
  readonly revision?: number;
  readonly draft?: boolean;
}

/** `workflow export ID`: the document as YAML. Imported again it selects the same revision. */
export function addWorkflowExport(program: Command, frame: Frame): void {
  const command = commandAt(program, ['workflow', 'export'])
    .description('A workflow as YAML, to be edited and imported again.')
    .argument('<workflow_id>')
    .addOption(new Option('--revision <number>', 'that one; else the published one').argParser(wholeNumber))
    .addOption(new Option('--draft', 'its draft').conflicts('revision'));
  runs<Options>(command, frame, async (run, { revision, draft }, [workflow_id]) => {
    const { screen, surroundings } = run;
    const client = await run.client();
    const selection = draft === true ? { kind: 'draft' } : { kind: 'published', revision_no: revision };
    const answer = await client.call(workflowGet, { workflow_id, selection }, { signal: surroundings.signal });
    if (!('document' in answer)) throw new FarmError('invalid_output', 'The farm answered no document.');
    const text = withSchema(workflowText(answer.document), `${client.url}${workflowSchemaPath}`);
    screen.answer({ ...answer, text });
    if (screen.json) return;
    const { stdout } = surroundings;
    // A file gets what was written, a terminal what can not command it.
    stdout.write(stdout.isTTY === true ? plainText(text) : text);
  });
}

/** Editors with the YAML language server check and complete by it. What is one line of JSON stays that: it is as large as may be. */
function withSchema(text: string, url: string): string {
  return text.startsWith('{') ? `${text}\n` : `# yaml-language-server: $schema=${url}\n${text}`;
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is the number of a revision.');
}
