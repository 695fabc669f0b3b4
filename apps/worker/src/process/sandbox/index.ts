export { narrowHosts } from './narrow-hosts.js';
export { openSandbox } from './open-sandbox.js';
export { memberDoorPort, type Sandbox, type SandboxRung } from './rules.js';
export { openSocketPlace, type SocketPlace, socketNames } from './sandbox-folder.js';
export { SandboxPolicy } from './sandbox-policy.js';
export { readSandboxSettings } from './sandbox-settings.js';
