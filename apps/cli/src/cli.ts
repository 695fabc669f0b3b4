import { Command, CommanderError } from 'commander';
import { FarmError } from '#contracts';
import { addCatalogue } from './commands/add-catalogue.js';
import { addAuditVerify } from './commands/audit/audit-verify.js';
import { addCompletion } from './commands/completion.js';
import { addDemo } from './commands/demo/add-demo.js';
import { addDoctor } from './commands/doctor/add-doctor.js';
import { CommandFailed, type Frame } from './commands/frame.js';
import { addLogin } from './commands/login/login.js';
import { addLogout } from './commands/login/logout.js';
import { addPassword } from './commands/login/password.js';
import { addMcpSnippet } from './commands/mcp/mcp-snippet.js';
import { addPluginCommands } from './commands/plugin-commands.js';
import { addProvider } from './commands/provider/add-provider.js';
import { addRepo } from './commands/repo/add-repo.js';
import { addTask } from './commands/task/add-task.js';
import { addUp } from './commands/up.js';
import { addWorker } from './commands/worker.js';
import { addWorkerLogin } from './commands/worker-login.js';
import { addWorkflowExport } from './commands/workflow-export.js';
import { addWorkflowImport } from './commands/workflow-import.js';
import { addWorkflowSchema } from './commands/workflow-schema.js';
import { failureOf, tellFailure } from './output/failure.js';
import { openScreen, type Surroundings } from './output/screen.js';
import { plainText } from './output/terminal-text.js';
import { productVersion } from './product-version.js';

const usageExit = 2;
/** As a shell tells a program that SIGINT has ended. */
const interruptedExit = 130;

/** Runs one command line and answers its exit code (A9.3). It never throws and never ends the process. */
export async function runCommandLine(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const screen = openScreen(surroundings, words.includes('--json'));
  const frame = { surroundings };
  const program = buildProgram(frame);
  try {
    await addPluginCommands(program, frame, words);
    await program.parseAsync([...words], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommandFailed) return error.exit;
    if (error instanceof CommanderError) return endOfUsage(error, () => screen.answer(usageError(error)));
    // Ctrl-C is the person's will and no failure; what was being done is told by the command.
    if (surroundings.signal.aborted) return interruptedExit;
    const failure = failureOf(error);
    tellFailure(failure, screen, words);
    return failure.exit;
  }
}

function buildProgram(frame: Frame): Command {
  const { stdout, stderr } = frame.surroundings;
  const program = new Command('longshore')
    .description('Runs coding agents on your own machines as one farm.')
    .version(productVersion())
    .exitOverride()
    // Help holds words of plugins, too.
    .configureOutput({
      writeOut: (text) => stdout.write(plainText(text)),
      writeErr: (text) => stderr.write(plainText(text)),
    })
    .showHelpAfterError('Add --help to see what there is.')
    .helpCommand(false)
    // A group such as `worker` has options of its own: what stands behind a subcommand is the subcommand's.
    .enablePositionalOptions();
  addUp(program, frame);
  addDemo(program, frame);
  addDoctor(program, frame);
  addLogin(program, frame);
  addLogout(program, frame);
  addPassword(program, frame);
  addTask(program, frame);
  addRepo(program, frame);
  addWorker(program, frame);
  addWorkerLogin(program, frame);
  addProvider(program, frame);
  addMcpSnippet(program, frame);
  addCatalogue(program, frame);
  addAuditVerify(program, frame);
  addWorkflowImport(program, frame);
  addWorkflowExport(program, frame);
  addWorkflowSchema(program, frame);
  addCompletion(program, frame);
  return program;
}

/** Help is an answer; everything else that commander ends with is bad usage (A9.4). */
function endOfUsage(error: CommanderError, tell: () => void): number {
  if (error.exitCode === 0) return 0;
  tell();
  return usageExit;
}

function usageError(error: CommanderError): unknown {
  const { code, detail } = new FarmError('invalid_input', error.message.replace(/^error: /, ''));
  return { ok: false, error: { code, message: detail, hint: 'Add --help to see what there is.', who: 'caller' } };
}
