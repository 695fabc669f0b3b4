import type { Command } from 'commander';

/** What may be typed at one place of the command line. */
export interface Place {
  /** Words before, without the program: `queue list`; empty at the top. */
  readonly path: string;
  readonly commands: readonly Described[];
  readonly flags: readonly Flag[];
  /** Of each argument without a flag, in order. */
  readonly values: readonly Values[];
}

export interface Described {
  readonly name: string;
  readonly about: string;
}

interface Flag extends Described {
  /** Nothing: the flag stands alone. */
  readonly values: Values | undefined;
}

/** A path, or one of these words; where there are none, whatever the person means. */
export type Values = 'path' | readonly string[];

/** All places of a program, the top first. What is hidden in its help is nowhere here. */
export function placesOf(command: Command, path: readonly string[] = []): readonly Place[] {
  const shown = command.createHelp();
  const commands = shown.visibleCommands(command);
  const here: Place = {
    path: path.join(' '),
    commands: commands.map((one) => ({ name: one.name(), about: one.description() })),
    flags: shown
      .visibleOptions(command)
      .flatMap(({ long, description, flags, required, optional, argChoices }) =>
        long
          ? [{ name: long, about: description, values: required || optional ? valuesOf(flags, argChoices) : undefined }]
          : [],
      ),
    values: command.registeredArguments.map((argument) => valuesOf(argument.name(), argument.argChoices)),
  };
  return [here, ...commands.flatMap((one) => placesOf(one, [...path, one.name()]))];
}

function valuesOf(named: string, choices: readonly string[] | undefined): Values {
  return /\b(file|dir|path|folder)s?\b/.test(named) ? 'path' : (choices ?? []);
}
