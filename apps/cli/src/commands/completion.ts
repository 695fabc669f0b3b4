import { Argument, type Command } from 'commander';
import { FarmError } from '#contracts';
import { bashScript } from '../completion/bash.js';
import { fishScript } from '../completion/fish.js';
import { type Place, placesOf } from '../completion/places.js';
import { zshScript } from '../completion/zsh.js';
import { commandAt, type Frame } from './frame.js';

const scripts: Readonly<Record<string, (places: readonly Place[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `completion`: a script that needs neither a farm nor this program when the person presses Tab. */
export function addCompletion(program: Command, { surroundings }: Frame): void {
  commandAt(program, ['completion'])
    .description('Print the script by which a shell completes these commands.')
    .addArgument(new Argument('<shell>').choices(Object.keys(scripts)))
    .addHelpText(
      'after',
      `
bash: echo 'source <(longshore completion bash)' >> ~/.bashrc
zsh:  echo 'source <(longshore completion zsh)' >> ~/.zshrc     (after compinit)
fish: longshore completion fish > ~/.config/fish/completions/longshore.fish`,
    )
    .action((shell: string) => {
      const script = scripts[shell];
      if (script === undefined) throw new FarmError('invalid_input', 'There is no script for this shell');
      surroundings.stdout.write(script(placesOf(program)));
    });
}
