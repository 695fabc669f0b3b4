import type { Command } from 'commander';
import { credentialPath, farmFolder } from '../../client/farm-folder.js';
import type { Paint } from '../../output/screen.js';
import { drawTable } from '../../output/table.js';
import { CommandFailed, commandAt, type Frame, runs } from '../frame.js';
import type { Finding } from './check.js';
import { checkFarm } from './check-farm.js';
import { checkDataFolder, checkDisk, checkGit, checkNats, checkNode, checkPostgres } from './check-machine.js';
import { checkProviders } from './check-providers.js';
import { checkSandbox } from './check-sandbox.js';
import { checkWorkspaces } from './check-workspaces.js';

/** `doctor`: looks at everything that a farm needs and changes nothing. Ends 1 when something needed is broken. */
export function addDoctor(program: Command, frame: Frame): void {
  const command = commandAt(program, ['doctor']).description(
    'Look for what is wrong with this machine or the farm, each with its fix.',
  );
  runs(command, frame, async (run) => {
    const { screen, surroundings } = run;
    const { env } = surroundings;
    const data = farmFolder(env, run.data);
    const found = await Promise.all([
      checkNode(),
      checkGit(),
      checkPostgres(env.DATABASE_URL),
      checkNats(env, data),
      checkDataFolder(data),
      checkDisk(data),
      checkFarm(credentialPath(env, run.data)),
      checkProviders(env, data),
      checkSandbox(),
      checkWorkspaces(data),
    ]);
    const findings: readonly Finding[] = found.flat();
    const healthy = findings.every(({ state }) => state !== 'broken');
    screen.answer({ healthy, findings });
    screen.show(drawFindings(findings, screen.paint));
    if (!healthy) throw new CommandFailed(1);
  });
}

function drawFindings(findings: readonly Finding[], paint: Paint): string {
  const colour = { ok: paint.green, warning: paint.yellow, broken: paint.red };
  const table = drawTable(
    ['', 'what', 'found', 'fix'],
    findings.map(({ name, state, found, fix }) => [state, name, found, fix ?? '']),
    paint,
  );
  return table.replace(/^(ok|warning|broken)/gm, (state) =>
    state === 'ok' || state === 'warning' || state === 'broken' ? colour[state](state) : state,
  );
}
