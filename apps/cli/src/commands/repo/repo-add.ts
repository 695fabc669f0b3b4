import { type Command, Option } from 'commander';
import { FarmError, repoAdd } from '#contracts';
import { argumentFields } from '../../arguments/fields.js';
import { readInput } from '../../arguments/read-input.js';
import { watchBoth } from '../../arguments/watch-both.js';
import { plainLine } from '../../output/terminal-text.js';
import { CommandFailed, commandAt, type Frame, runs } from '../frame.js';
import { readNamedText } from '../read-document.js';
import { readCredential, readSecrets, type SecretFlags } from './read-secrets.js';
import { checkRepository } from './repo-check.js';

interface AddFlags extends SecretFlags {
  readonly project?: string;
  readonly defaultBranch?: string;
  readonly hostKeys?: string;
  readonly setup?: string;
  readonly verify?: string;
  readonly egress?: readonly string[];
  readonly env?: readonly string[];
  readonly submodules?: boolean;
  readonly lfs?: boolean;
  readonly replace?: boolean;
  readonly check?: boolean;
}

const many = (value: string, all: readonly string[] = []): readonly string[] => [...all, value];

/** `repo add NAME URL`: secrets by file, stdin or prompt and never as an argument, where every process could read them (H22). */
export function addRepoAdd(program: Command, frame: Frame): void {
  const command = commandAt(program, ['repo', 'add'])
    .description(repoAdd.summary)
    .argument('<name>', 'what Tasks call it')
    .argument('<url>', 'https://host/path, ssh://user@host/path or user@host:path, without credentials')
    .option('--token-file <file>', 'a token that may read it; `-` for stdin, `prompt` asks for it')
    .option('--username <name>', 'beside the token, where the host wants a certain one')
    .option('--ssh-key <file>', 'a private key without a passphrase; `-` for stdin')
    .option('--no-credential', 'forget the credential that is kept (with --replace)')
    .option('--host-keys <file>', 'lines of known_hosts for the ssh host; else the keys of the first contact are taken')
    .option('--project <name>', 'keeps mirrors and warm workspaces apart')
    .option('--default-branch <name>', "else the branch that the origin's HEAD names; `none` forgets it")
    .option('--setup <command>', 'run once in a new workspace; `none` forgets it')
    .option('--verify <command>', 'run by the farm on the final tree; `none` forgets it')
    .option('--egress <host>', 'a host that the sandbox may reach; repeatable, `none` forgets all', many)
    .option('--env <name=value>', 'a variable of the sandbox; repeatable, `none` forgets all', many)
    .option(
      '--secret-file <name=file>',
      'a secret variable of the sandbox, from a file or `-`; repeatable, `none` forgets all',
      many,
    )
    .option('--submodules', 'check submodules out in workspaces too; `--no-submodules` leaves them empty')
    .addOption(new Option('--no-submodules').hideHelp())
    .option('--lfs', 'fetch the files of git-lfs (https only) for workspaces; `--no-lfs` leaves the pointers')
    .addOption(new Option('--no-lfs').hideHelp())
    .option('--replace', 'change the one of this name: what is not given stays')
    .option('--no-check', 'do not ask the origin whether it works');
  const refuseBoth = watchBoth(command, 'lfs', 'submodules');
  runs<AddFlags>(command, frame, async (run, flags, [name, url]) => {
    refuseBoth();
    const { screen, surroundings } = run;
    const given = await inputOf(flags, { name, url }, surroundings);
    const input = readInput(repoAdd, argumentFields(repoAdd), {}, given, flagsOf);
    const client = await run.client();
    const added = await client.call(repoAdd, input, { signal: surroundings.signal });
    if (flags.check === false) {
      screen.answer(added);
      screen.show(`${screen.paint.bold(added.name)} ${flags.replace === true ? 'changed' : 'registered'}`);
      return;
    }
    screen.say(`${added.name} is ${flags.replace === true ? 'changed' : 'registered'}; asking its origin …`);
    const stays = (): void =>
      screen.say(
        `${added.name} stays registered as it is. Change it with longshore repo add ${added.name} ${plainLine(added.url)} --replace …, ask again with longshore repo check ${added.name}, or take it away with longshore repo remove ${added.name}.`,
      );
    const usable = await checkRepository(run, added.name).catch((error: unknown) => {
      stays();
      throw error;
    });
    if (usable) return;
    stays();
    throw new CommandFailed(unusable);
  });
}

/** As for what is not to be had now. */
const unusable = 7;

async function inputOf(
  flags: AddFlags,
  named: { readonly name: string | undefined; readonly url: string | undefined },
  surroundings: Frame['surroundings'],
): Promise<unknown> {
  const { project, egress, replace } = flags;
  const files = [flags.tokenFile, flags.sshKey, flags.hostKeys, ...(flags.secretFile ?? []).map(fileOf)];
  if (files.filter((file) => file === '-').length > 1)
    throw new FarmError('invalid_input', 'Only one of the files can come by stdin.');
  return withoutGaps({
    ...named,
    project,
    default_branch: orNull(flags.defaultBranch),
    setup: orNull(flags.setup),
    verify: orNull(flags.verify),
    egress: egress && withoutNone(egress),
    replace,
    environment: flags.env && Object.fromEntries(withoutNone(flags.env).map(pairOf)),
    secrets: await readSecrets(flags.secretFile && withoutNone(flags.secretFile), surroundings),
    fetch: fetchOf(flags),
    credential: await readCredential(flags, surroundings),
    host_keys: flags.hostKeys && (await readNamedText(flags.hostKeys, surroundings)),
  });
}

/** Flags whose fields have another name or shape. */
const flagsOf = { environment: '--env', secrets: '--secret-file', fetch: '--lfs/--submodules' };

function fetchOf({ lfs, submodules }: AddFlags): Readonly<Record<string, unknown>> | undefined {
  return lfs === undefined && submodules === undefined ? undefined : withoutGaps({ lfs, submodules });
}

const orNull = (value: string | undefined): string | null | undefined => (value === 'none' ? null : value);
/** The one word alone is the empty list. */
const withoutNone = (given: readonly string[]): readonly string[] => (given.join() === 'none' ? [] : given);
const fileOf = (pair: string): string => pair.slice(pair.indexOf('=') + 1);

function pairOf(pair: string): readonly [string, string] {
  const at = pair.indexOf('=');
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
  throw new FarmError('invalid_input', '--env takes NAME=VALUE.');
}

function withoutGaps(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
