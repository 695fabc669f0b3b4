/**
 * The guardian: one per process tree, started by the worker in a session of its own, so that neither a SIGSTOP of the worker nor
 * a Ctrl-C at its terminal reaches it. Everything that it must know comes by stdin; its arguments are empty (H22).
 *
 *   0 orders in (its end: the worker is gone)   1 reports out   3, 4, 5 stdin, stdout, stderr of the tree's first process
 *
 * Only Node's own modules here and in what this imports: it starts in tens of milliseconds and stays small.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { TreeEnd } from './guarded-tree.js';
import { type GuardianOrder, type GuardianReport, parseOrder } from './guardian-messages.js';
import { GuardianWatch } from './guardian-watch.js';
import { instantOf, leftOf, machineClock } from './monotonic.js';
import { ProcessTree } from './process-tree.js';
import { markerEnvironment } from './tree-marker.js';

type StartOrder = Extract<GuardianOrder, { type: 'start' }>;

const treeStdio = [3, 4, 5];

function report(message: GuardianReport): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function main(): void {
  // A worker that is gone reads nothing; that must not end us before the tree is ended.
  process.stdout.on('error', () => {});
  const lines = createInterface({ input: process.stdin });
  let watched: Watched | undefined;

  lines.on('line', (line) => {
    const order = parseOrder(line);
    if (order === undefined) return;
    if (order.type === 'start') watched ??= begin(order);
    else watched?.obey(order);
  });
  lines.on('close', () => (watched === undefined ? process.exit(0) : watched.orphaned()));
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => watched?.orphaned());
}

interface Watched {
  obey(order: Exclude<GuardianOrder, StartOrder>): void;
  orphaned(): void;
}

function begin(start: StartOrder): Watched | undefined {
  // Refused, not frozen: nothing may begin under a lease that is over (I4).
  if (leftOf(start.lease, instantOf(machineClock)) <= 0) return refuse('lease_over');
  const tree = new ProcessTree(start.marker);
  const root = spawnRoot(start);
  // Only the tree may hold its pipes: their end must mean that the tree has closed them.
  for (const fd of treeStdio) closeSync(fd);
  root.once('error', (error: NodeJS.ErrnoException) => refuse(error.code ?? 'unknown'));
  if (root.pid === undefined) return undefined;
  tree.adopt(root.pid);

  const watch = new GuardianWatch(tree, machineClock, start.lease, report);
  const exited = new Promise<void>((resolve) => {
    root.once('exit', (code, signal) => {
      report({ type: 'exited', exit: { code, signal } });
      resolve();
    });
  });
  report({ type: 'started', pid: root.pid });
  lookAgain(watch);
  return {
    obey: (order) => obey(watch, order, exited),
    orphaned: () => void watch.endOrphan(start.graceMs).then((end) => leave(end, exited)),
  };
}

function spawnRoot({ command, marker }: StartOrder): ChildProcess {
  return spawn(command.file, command.args, {
    cwd: command.cwd,
    env: { ...command.environment, ...markerEnvironment(marker) },
    stdio: treeStdio,
    detached: true,
  });
}

function lookAgain(watch: GuardianWatch): void {
  setTimeout(() => void watch.look().then(() => lookAgain(watch)), watch.nextLookMs());
}

function obey(watch: GuardianWatch, order: Exclude<GuardianOrder, StartOrder>, exited: Promise<void>): void {
  switch (order.type) {
    case 'renew':
      void watch.renew(order.lease);
      return;
    case 'thaw':
      void watch.thaw(order.lease);
      return;
    case 'freeze':
      void watch.freeze();
      return;
    case 'stop':
      void watch.end(order.graceMs).then((end) => leave(end, exited));
      return;
  }
}

let leaving = false;

async function leave(end: TreeEnd, exited: Promise<void>): Promise<void> {
  if (leaving) return;
  leaving = true;
  // The first process is gone for /proc a moment before we are told how it ended.
  if (end.empty) await exited;
  process.stdout.write(`${JSON.stringify({ type: 'gone', end } satisfies GuardianReport)}\n`, () => process.exit(0));
}

function refuse(code: string): undefined {
  process.stdout.write(`${JSON.stringify({ type: 'refused', code } satisfies GuardianReport)}\n`, () =>
    process.exit(0),
  );
  return undefined;
}

main();
