/** Removes a folder of workers that have ended: what one that was killed left mounted, too. For the command line. */
import { removeFolder } from './remove-folder.js';

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('no folder is named');
await removeFolder(folder);
