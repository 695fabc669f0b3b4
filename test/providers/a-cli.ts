import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from '@jest/globals';

const run = promisify(execFile);

/** A command line agent from npm, at the version that is tested. */
export interface CliPackage {
  readonly name: string;
  readonly version: string;
  /** Its command in `node_modules/.bin`. */
  readonly command: string;
  /** Whether its own install script has to run. */
  readonly installs?: boolean;
}

export const claudeCli: CliPackage = {
  name: '@anthropic-ai/claude-code',
  version: process.env.LONGSHORE_CLAUDE_VERSION ?? '2.1.332',
  command: 'claude',
  installs: true,
};

export const codexCli: CliPackage = {
  name: '@openai/codex',
  version: process.env.LONGSHORE_CODEX_VERSION ?? '0.171.0',
  command: 'codex',
};

/** An agent that speaks the Agent Client Protocol. */
export const acpCli: CliPackage = {
  name: '@agentclientprotocol/claude-agent-acp',
  version: process.env.LONGSHORE_ACP_AGENT_VERSION ?? '0.101.0',
  command: 'claude-agent-acp',
};

/** `LONGSHORE_PROVIDERS_CACHE`, or a folder outside of the repository where the agents stay from run to run. */
const cache = process.env.LONGSHORE_PROVIDERS_CACHE ?? join(homedir(), '.cache', 'longshore', 'providers');

/**
 * The absolute path of an agent's command, installed when it is not there yet; undefined where it can not be had, which has been
 * said on stderr.
 */
export async function aCli(cli: CliPackage): Promise<string | undefined> {
  const folder = join(cache, `${cli.name.replaceAll(/[^\w.-]+/g, '-').replace(/^-/, '')}-${cli.version}`);
  const program = join(folder, 'node_modules/.bin', cli.command);
  const whole = join(folder, 'installed');
  if (existsSync(whole)) return program;
  try {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const manifest = {
      private: true,
      dependencies: { [cli.name]: cli.version },
      ...(cli.installs === true ? { allowScripts: { [cli.name]: true } } : {}),
    };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, timeout: 600_000 });
    // npm of before 11 runs every script, later ones only what the manifest allows
    await run(program, ['--version'], { timeout: 60_000 });
    await writeFile(whole, '');
    return program;
  } catch (error) {
    process.stderr.write(
      `SKIPPED: ${cli.name}@${cli.version} could not be installed (${reasonOf(error)}); nothing of it was tested.\n`,
    );
    return undefined;
  }
}

/** Tests of a real agent: skipped in plain sight where it can not be had. */
export function describeCli(cli: CliPackage, program: string | undefined, tests: (program: string) => void): void {
  const title = `${cli.name} ${cli.version}`;
  describe(title, () => {
    if (program !== undefined) return tests(program);
    it.skip('could not be installed: its tests were skipped', () => undefined);
  });
}

function reasonOf(error: unknown): string {
  const text =
    error instanceof Error || (typeof error === 'object' && error !== null) ? String(Object(error).message) : '';
  return text.split('\n')[0]?.slice(0, 200) ?? 'unknown';
}
