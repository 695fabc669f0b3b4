import { join } from 'node:path';
import type { TreeCommand } from '../../process/guarded-tree.js';
import type { SessionRequest } from '../port.js';
import { ownConfig, ownersConfig } from './claude-needs.js';

/**
 * Built-in tools that a member may use. An allow list, because each version brings new ways around the team: sub-agents, messages
 * between sessions, schedulers, work in the background.
 */
const tools = [
  'Bash',
  'Edit',
  'Glob',
  'Grep',
  'NotebookEdit',
  'Read',
  'Skill',
  'TodoWrite',
  'WebFetch',
  'WebSearch',
  'Write',
];

/** The same once more for versions or settings that would add to the list. */
const refusedTools = [
  'Agent',
  'AskUserQuestion',
  'CronCreate',
  'CronDelete',
  'CronList',
  'EnterPlanMode',
  'EnterWorktree',
  'ExitPlanMode',
  'ExitWorktree',
  'ListAgents',
  'Monitor',
  'PushNotification',
  'RemoteTrigger',
  'ScheduleWakeup',
  'SendMessage',
  'Task',
  'TaskOutput',
  'TaskStop',
  'TeamCreate',
  'TeamDelete',
  'Workflow',
];

/** A member call may wait for the farm as long as the farm is away (D18). */
const memberCallMs = 24 * 3_600_000;

/** One process of Claude Code: nothing of the prompt and no secret in its arguments (H22). */
export function claudeCommand(request: SessionRequest, session: string, mcpFile: string): TreeCommand {
  const { account, model, effort } = request;
  return {
    file: request.program ?? 'claude',
    args: [
      '-p',
      '--input-format=stream-json',
      '--output-format=stream-json',
      '--verbose',
      '--include-partial-messages',
      '--replay-user-messages',
      request.resume === undefined ? `--session-id=${session}` : `--resume=${session}`,
      `--mcp-config=${mcpFile}`,
      '--strict-mcp-config',
      '--permission-mode=bypassPermissions',
      `--tools=${tools.join(',')}`,
      `--disallowed-tools=${refusedTools.join(',')}`,
      // never the machine owner's own settings: they would differ from machine to machine (I6)
      `--setting-sources=${request.repositoryInstructions ? 'project' : ''}`,
      ...(model === undefined ? [] : [`--model=${model}`]),
      ...(effort === undefined ? [] : [`--effort=${effort}`]),
    ],
    cwd: request.workspace,
    environment: {
      ...configOf(request),
      ...request.environment,
      ...account?.environment,
      ...account?.secrets,
      ...(account?.upstream === undefined ? {} : { ANTHROPIC_BASE_URL: account.upstream }),
      ...ownEnvironment,
    },
  };
}

/**
 * Where it keeps logins and sessions. A key needs none of the owner's: it gets a folder of the session's own. The login of the
 * machine's owner goes by its name, because the home inside a sandbox is another; only where it lies in a file: on macOS it lies
 * in the keychain, under a name that this variable would change.
 */
function configOf({ account, environment, stateFolder }: SessionRequest): Readonly<Record<string, string>> {
  if (Object.keys(account?.secrets ?? {}).length > 0) return { CLAUDE_CONFIG_DIR: join(stateFolder, ownConfig) };
  const folder = process.platform === 'linux' ? ownersConfig(environment) : undefined;
  return folder === undefined ? {} : { CLAUDE_CONFIG_DIR: folder };
}

/** What a farm's session must not do besides its work, whatever an account says. */
const ownEnvironment: Readonly<Record<string, string>> = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
  CLAUDE_CODE_DISABLE_CRON: '1',
  // what it would remember of one Task for the next
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
  // member operations stand in the tool list from the start
  ENABLE_TOOL_SEARCH: 'false',
  MCP_TIMEOUT: '30000',
  MCP_TOOL_TIMEOUT: String(memberCallMs),
  // as root it refuses to work without asking unless it is told that walls stand around it
  ...(process.getuid?.() === 0 ? { IS_SANDBOX: '1' } : {}),
};
