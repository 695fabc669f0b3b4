import { rm, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { FarmError } from '#contracts';
import type { GuardedTree, TreeCommand } from '../../process/guarded-tree.js';
import { startGuarded } from '../../process/guardian.js';
import { sessionEnvironment } from '../../session/session-environment.js';
import type { Provider, ProviderSession, SessionRequest } from '../port.js';
import { AppServerSession } from './app-server-session.js';
import { makeSessionHome, removeFromHome } from './codex-home.js';
import { codexNeeds } from './codex-needs.js';
import { codexAvailability, hasAppServer } from './codex-program.js';
import { doorSettings, sessionSettings } from './codex-settings.js';
import { ExecSession, execFile } from './exec-session.js';
import { settingArgs, toml } from './toml.js';

/** OpenAI's Codex: its app-server over stdio, or one `exec` per turn where it has none. */
export const codexProvider: Provider = {
  name: 'codex',
  resumes: true,
  availability: (wish) => codexAvailability(wish, sessionEnvironment(process.env)),

  enclosureNeeds: (wish) => codexNeeds(wish, sessionEnvironment(process.env)),

  async start(request) {
    const home = await makeSessionHome(request);
    const start: Start = {
      request,
      program: request.program ?? 'codex',
      environment: {
        ...request.environment,
        ...request.account?.environment,
        ...request.account?.secrets,
        CODEX_HOME: home.path,
      },
      home: home.path,
      settings: settingArgs(sessionSettings(request, home.loggedIn)),
    };
    const session = await ((await hasAppServer(start.program, request.environment))
      ? startAppServer(start)
      : startExec(start));
    void session.tree.exited.then(() => home.giveBack());
    return session;
  },
};

interface Start {
  readonly request: SessionRequest;
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly home: string;
  readonly settings: readonly string[];
}

async function startAppServer(start: Start): Promise<ProviderSession> {
  return new AppServerSession(await startTree(start, ['app-server', ...start.settings]), start.request);
}

async function startExec(start: Start): Promise<ProviderSession> {
  const { request, home, settings } = start;
  const { resume } = request;
  if (resume !== undefined && !/^[\w-]{1,64}$/.test(resume.ref))
    throw new FarmError('invalid_input', 'This is no session of Codex.');
  const how = ['--json', '--skip-git-repo-check', ...settings];
  const args = resume === undefined ? ['exec', ...how, '-'] : ['exec', 'resume', ...how, resume.ref, '-'];
  const file = execFile(home);
  await rm(file, { recursive: true, force: true });
  await writeFile(file, fileOf(request), { mode: 0o600, flag: 'wx' });
  try {
    return new ExecSession(await startTree(start, args), request, home);
  } catch (error) {
    removeFromHome(home, basename(file));
    throw error;
  }
}

/** What must not stand in the command line: the instructions and the door with its token (H22). */
function fileOf({ instructions, memberDoor }: SessionRequest): string {
  const settings = {
    developer_instructions: instructions,
    mcp_servers: { longshore: doorSettings(memberDoor) },
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${toml(value)}\n`)
    .join('');
}

function startTree({ request, program, environment }: Start, args: readonly string[]): Promise<GuardedTree> {
  const command: TreeCommand = { file: program, args, cwd: request.workspace, environment };
  return startGuarded({
    command: request.enclosure?.(command) ?? command,
    marker: request.marker,
    lease: request.lease,
    ...(request.graceMs === undefined ? {} : { graceMs: request.graceMs }),
  });
}
