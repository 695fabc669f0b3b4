import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { transformFile } from '@swc/core';
import { execa } from 'execa';

const root = resolve(import.meta.dirname, '../..');
const bundler = 'esbuild.config.mjs';
let building: Promise<void> | undefined;

/**
 * Brings `dist` up to date for tests that start our own programs as processes: what `npm run build` does, for the files that are
 * newer than their output. Each file is replaced by a rename, so test processes may call this side by side and nobody loads half
 * a file. A file that does not compile is left to the process that imports it.
 */
export function buildOnce(): Promise<void> {
  building ??= build();
  return building;
}

async function build(): Promise<void> {
  const folders = await Promise.all(['apps', 'libs'].map((folder) => readdir(join(root, folder), { recursive: true })));
  const sources = [
    ...(folders[0] ?? []).map((file) => join('apps', file)),
    ...(folders[1] ?? []).map((file) => join('libs', file)),
  ];
  const compiled = sources.filter((file) => /(?<!\.d|\.spec)\.ts$/.test(file));
  const changed = Math.max(await changedAt(join(root, bundler)), ...(await Promise.all(compiled.map(compileIfNewer))));
  const programs = (await readdir(join(root, 'dist'))).filter((name) => name.endsWith('.js'));
  const bundled = await Promise.all(programs.map((name) => changedAt(join(root, 'dist', name))));
  // all are written by one run, and of none when it fails
  if (Math.max(...bundled) >= changed) return;
  await execa(join(root, 'node_modules/.bin/node'), [bundler], { cwd: root });
}

/** Answers when the source was changed last. */
async function compileIfNewer(file: string): Promise<number> {
  const source = join(root, file);
  const output = join(root, 'dist', file.replace(/\.ts$/, '.js'));
  const { mtime } = await stat(source);
  if ((await changedAt(output)) < mtime.getTime()) await compileFile(source, output, mtime);
  return mtime.getTime();
}

async function compileFile(source: string, output: string, mtime: Date): Promise<void> {
  const compiled = await transformFile(source, { cwd: root, sourceMaps: 'inline' }).catch(() => undefined);
  if (compiled === undefined) return;
  await mkdir(dirname(output), { recursive: true });
  const fresh = `${output}.${randomUUID()}`;
  await writeFile(fresh, compiled.code);
  // The source's own time, so that a change made while it was compiled is newer than the output.
  await utimes(fresh, mtime, mtime);
  await rename(fresh, output);
}

async function changedAt(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtime.getTime() ?? 0;
}
