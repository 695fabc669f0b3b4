import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Command, Option } from 'commander';
import { execa, execaSync } from 'execa';
import { jobClaim, jobComplete, jobFail, jobHeartbeat } from '#contracts';
import { runCli } from '../../../../test/support/answering-farm.js';
import { tempDir } from '../../../../test/support/temp-dir.js';
import { commandWords } from '../arguments/command-words.js';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import { placesOf } from './places.js';
import { zshScript } from './zsh.js';

/** A command line up to the cursor, as a shell sees it; the last word is being typed. */
type Typed = readonly string[];

/** What a real shell offers with the script. */
type Shell = (script: string, typed: Typed, folder?: string) => Promise<readonly string[]>;

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

const bash: Shell = async (script, typed, folder = tempDir('shell')) => {
  writeFileSync(join(folder, '.script'), script);
  const program = `source .script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _longshore; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await execa('bash', ['--norc', '-uc', program, 'bash', ...typed], { cwd: folder });
  return linesOf(stdout);
};

/** The last step, which draws, is ours: outside of a terminal zsh has no place for it. */
const zsh: Shell = async (script, typed, folder = tempDir('shell')) => {
  writeFileSync(join(folder, '.script'), script);
  const program = `
    compdef() { : }; compset() { cur=\${cur#*=} }
    _files() { print -rl -- *(N) }
    _describe() { local list=\${@[-1]} each; for each in \${(P)list}; do each=\${each%%:*}; [[ $each == \${cur:-}* ]] && print -r -- $each; done; true }
    source ./.script; words=("$@"); CURRENT=$#; _longshore`;
  const { stdout } = await execa('zsh', ['-f', '-c', program, 'zsh', ...typed], { cwd: folder });
  return linesOf(stdout);
};

const fish: Shell = async (script, typed, folder = tempDir('shell')) => {
  writeFileSync(join(folder, '.script'), script);
  const home = tempDir('home');
  const line = typed.map((word) => word.replaceAll(/([ $();*'"])/g, '\\$1')).join(' ');
  const program = 'source .script; complete --do-complete "$argv[1]"';
  const { stdout } = await execa('fish', ['--no-config', '-c', program, line], {
    cwd: folder,
    env: { HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home },
  });
  return linesOf(stdout).map((offer) => offer.split('\t')[0]?.replace(/^--[^=]+=/, '') ?? '');
};

const shells = { bash, zsh, fish };
const isInstalled = (name: string) => execaSync(name, ['--version'], { reject: false }).exitCode === 0;
const scriptFor = async (name: string) => (await runCli(['completion', name])).stdout;

describe.each(Object.entries(shells))('completion in %s', (name, offers) => {
  const itHere = isInstalled(name) ? it : it.skip;
  const sorted = async (script: string, ...typed: string[]) =>
    [...(await offers(script, ['longshore', ...typed]))].sort();

  itHere('offers groups, the commands of a group and the flags of a command', async () => {
    const script = await scriptFor(name);
    const top = await sorted(script, '');
    expect(top).toEqual(expect.arrayContaining(['audit', 'completion', 'queue', 'status', 'task', 'up', 'worker']));
    expect(await sorted(script, 'que')).toEqual(['queue']);
    expect(await sorted(script, 'queue', '')).toEqual(['cancel', 'list', 'redrive', 'requeue']);
    expect(await sorted(script, 'queue', 'list', '--st')).toEqual(['--state']);
    expect(await sorted(script, 'queue', 'list', '--')).toEqual(
      expect.arrayContaining(['--cursor', '--json', '--limit', '--state', '--task-id']),
    );
  });

  itHere('offers the values that a flag or an argument may have, behind other flags too', async () => {
    const script = await scriptFor(name);
    expect(await sorted(script, 'queue', 'list', '--state', 'le')).toEqual(['leased']);
    expect(await sorted(script, 'queue', '--json', 'list', '--limit', '5', '--state', 'q')).toEqual(['queued']);
    expect(await sorted(script, 'completion', '')).toEqual(expect.arrayContaining(['bash', 'fish', 'zsh']));
    // the value of a flag is not taken for a command
    expect(await sorted(script, 'worker', '--join', 'invite', 'lis')).toEqual(['list']);
  });

  itHere('offers files where a file is meant', async () => {
    const folder = tempDir('shell');
    writeFileSync(join(folder, 'a call.json'), '{}');
    const found = await offers(await scriptFor(name), ['longshore', 'queue', 'list', '--input', ''], folder);
    expect(found.map((file) => file.replaceAll('\\', ''))).toContain('a call.json');
  });

  itHere('runs nothing of what was typed', async () => {
    const folder = tempDir('shell');
    const script = await scriptFor(name);
    for (const word of ['$(touch ran)', '`touch ran`', '*', "';touch ran;'"]) {
      await offers(script, ['longshore', 'queue', word, ''], folder);
      await offers(script, ['longshore', 'queue', 'list', '--state', word], folder);
    }
    const { stdout } = await execa('ls', { cwd: folder });
    expect(stdout).toBe('');
  });
});

describe('completion', () => {
  it('has nothing that the help does not show', () => {
    const program = new Command('longshore').helpCommand(false);
    program.command('seen').addOption(new Option('--secret <x>').hideHelp()).option('--plain');
    program.command('hidden', { hidden: true }).option('--below');
    const places = placesOf(program);
    expect(places.map(({ path }) => path)).toEqual(['', 'seen']);
    for (const script of [bashScript(places), zshScript(places), fishScript(places)]) {
      expect(script).not.toMatch(/hidden|secret|below/);
      expect(script).toContain('plain');
    }
  });

  it('has no operation of workers and members', async () => {
    const script = await scriptFor('bash');
    for (const contract of [jobClaim, jobComplete, jobFail, jobHeartbeat])
      expect(script).not.toContain(`'${commandWords(contract).join(' ')}')`);
    expect(script).toContain(`'job submit')`);
  });

  it('is for three shells, and ends with 2 for another', async () => {
    expect((await runCli(['completion', 'tcsh'])).exit).toBe(2);
    expect((await runCli(['completion', '--help'])).stdout).toContain('source <(longshore completion bash)');
  });
});
