import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** The table of longshore.toml that has the plugin `odd`, which means no good. */
export const hostilePlugin = `
[plugins.odd]
command = ["node", "${join(root, 'test/adversarial/hostile-plugin.fixture.mjs')}"]
reads = ["${root}"]
timeout_seconds = 5
`;
