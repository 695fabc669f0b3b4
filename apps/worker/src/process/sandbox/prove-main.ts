/** Runs each rung of the sandbox on this machine and says on stdout, as JSON, what came of it. For `longshore doctor` and joins. */
import { proveRungs } from './prove-rungs.js';

process.stdout.write(`${JSON.stringify(await proveRungs())}\n`);
