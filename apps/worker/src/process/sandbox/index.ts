export { openSandbox } from './open-sandbox.js';
export { proveRungs, type RungProof } from './prove-rungs.js';
export {
  type EgressRules,
  type HeldKey,
  memberDoorPort,
  type Sandbox,
  type SandboxLimits,
  type SandboxRules,
  type SandboxRung,
  sandboxRungs,
} from './rules.js';
export { socketNames, withSocketPath } from './sandbox-folder.js';
