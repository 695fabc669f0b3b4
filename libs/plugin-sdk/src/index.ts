export type { Caller, JsonSchema, Plugin, PluginCall, PluginOperation, PluginPreview } from './plugin.js';
export { servePlugin } from './serve-plugin.js';
