/**
 * Lets Node import our TypeScript as it lies: `./x.js` means `./x.ts`, `#lib` means its source. Jest does this for the tests, but
 * not for what runs outside of them (its global setup, helper processes: `node --import ./test/support/typescript.mjs file.ts`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

registerHooks({
  resolve(specifier, context, next) {
    if (!context.parentURL?.endsWith('.ts')) return next(specifier, context);
    if (specifier.startsWith('#')) {
      return next(specifier, { ...context, conditions: ['longshore-source', ...context.conditions] });
    }
    if (/^\.{1,2}\/.*\.js$/.test(specifier)) {
      const source = new URL(`${specifier.slice(0, -2)}ts`, context.parentURL);
      if (existsSync(source)) return next(source.href, context);
    }
    return next(specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
    const filename = fileURLToPath(url);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { filename, sourceMaps: 'inline' });
    return { format: 'module', source: code, shortCircuit: true };
  },
});
