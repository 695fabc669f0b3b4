import { taskDirectory } from '../dispatch/picture.js';

/** Where the next Dispatch of the member finds the output, relative to its workspace. */
export function outputPath(task: string, name: string): string {
  return `${taskDirectory(task)}/command-runs/${name}/output.log`;
}
