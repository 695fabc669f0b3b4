import type { MemberDoor, SessionAccount, SessionRequest } from '../port.js';
import { openaiUrl } from './codex-home.js';
import type { Setting } from './toml.js';

type Settings = Readonly<Record<string, Setting>>;

/** Longer than the door may hold a call while the farm is away. */
const doorCallSeconds = 30 * 60;

/**
 * How a session of ours differs from a person's: no sandbox and no questions of its own (ours encloses the whole process, and
 * two nest badly), nothing that goes around the team (sub-agents, goals), nothing that the farm did not ask for (web search,
 * plugins, hooks, memories), and no waiting without end for a network. Settings that a version does not know are ignored by it.
 * They stand in the command line: no secret, no prompt (H22).
 */
export function sessionSettings(request: SessionRequest, loggedIn: boolean): Settings {
  const { model, effort, repositoryInstructions } = request;
  return {
    sandbox_mode: 'danger-full-access',
    approval_policy: 'never',
    web_search: 'disabled',
    check_for_update_on_startup: false,
    'analytics.enabled': false,
    'history.persistence': 'none',
    cli_auth_credentials_store: 'file',
    // what the features say of sub-agents, newer models overrule
    'agents.enabled': false,
    ...switchedOff,
    'skills.bundled.enabled': false,
    // AGENTS.md and the skills of the repository; its .codex folder is read of trusted projects only, and none is made one
    ...(repositoryInstructions ? {} : { project_doc_max_bytes: 0, 'skills.include_instructions': false }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { model_reasoning_effort: effort }),
    ...shellSettings(request.account),
    ...modelApiSettings(request.account, loggedIn),
  };
}

const switchedOff: Settings = Object.fromEntries(
  [
    'apps',
    'goals',
    'hooks',
    'memories',
    'multi_agent',
    'multi_agent_v2',
    'plugins',
    // it would write the environment of the session into its home
    'shell_snapshot',
    // without a network a turn would wait for ever
    'unbounded_connection_retries',
  ].map((feature) => [`features.${feature}`, false]),
);

/** The agent's shells get the environment of the session, and no key of the account. */
function shellSettings(account: SessionAccount | undefined): Settings {
  return {
    'shell_environment_policy.inherit': 'all',
    'shell_environment_policy.ignore_default_excludes': true,
    'shell_environment_policy.exclude': Object.keys(account?.secrets ?? {}),
  };
}

const ownProvider = 'longshore';
const keyNames = ['OPENAI_API_KEY', 'CODEX_API_KEY'];

/**
 * Where the model is asked. A key is taken from the environment; an account without one is logged in, or its key is put in on
 * the way (H35).
 */
function modelApiSettings(account: SessionAccount | undefined, loggedIn: boolean): Settings {
  if (account === undefined) return {};
  const { secrets, upstream } = account;
  const key = keyNames.find((name) => name in secrets) ?? Object.keys(secrets)[0];
  if (key === undefined && upstream === undefined) return {};
  return {
    model_provider: ownProvider,
    [`model_providers.${ownProvider}`]: {
      name: 'Longshore',
      base_url: upstream ?? openaiUrl,
      wire_api: 'responses',
      ...(key === undefined ? { requires_openai_auth: loggedIn } : { env_key: key }),
    },
  };
}

/** The member door as an MCP server of the session. It holds the door's token: by stdin or in a file of mode 0600 only (H34). */
export function doorSettings({ url, token }: MemberDoor): Readonly<Record<string, Setting>> {
  return {
    url,
    http_headers: { Authorization: `Bearer ${token}` },
    // without it a call waits for a person for ever
    default_tools_approval_mode: 'approve',
    tool_timeout_sec: doorCallSeconds,
    // a session that can not hand over need not begin
    required: true,
  };
}
