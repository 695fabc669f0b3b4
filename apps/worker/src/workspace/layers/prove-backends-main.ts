/** Tries each backend of workspaces in a folder, `argv[2]`, and says on stdout, as JSON, what came of it. For `longshore doctor`. */
import { proveBackends } from './backends.js';

process.stdout.write(`${JSON.stringify(await proveBackends(process.argv[2] ?? ''))}\n`);
