import type { Command } from 'commander';
import type { Frame } from '../frame.js';
import { addRepoAdd } from './repo-add.js';
import { addRepoCheck } from './repo-check.js';

/** `repo`: list and remove come from the catalogue; these two need files or words of their own. */
export function addRepo(program: Command, frame: Frame): void {
  addRepoAdd(program, frame);
  addRepoCheck(program, frame);
}
