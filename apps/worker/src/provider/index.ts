import { acpProvider } from './acp/acp-provider.js';
import { claudeProvider } from './claude/claude-provider.js';
import { codexProvider } from './codex/codex-provider.js';
import type { Provider } from './port.js';
import { scriptedProvider } from './scripted/scripted-provider.js';

/** Every provider that this worker can start, by the name that workflows use. */
export const providers: ReadonlyMap<string, Provider> = new Map(
  [scriptedProvider, claudeProvider, codexProvider, acpProvider].map((provider) => [provider.name, provider]),
);
