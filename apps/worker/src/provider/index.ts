import type { Provider } from './port.js';
import { scriptedProvider } from './scripted/scripted-provider.js';

/** Every provider that this worker can start, by the name that workflows use. */
export const providers: ReadonlyMap<string, Provider> = new Map(
  [scriptedProvider].map((provider) => [provider.name, provider]),
);
