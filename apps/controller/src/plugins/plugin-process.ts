import { type ChildProcess, spawn } from 'node:child_process';
import { z } from 'zod';
import { FarmError, limits } from '#contracts';
import { type PluginAsk, PluginManifest, type PluginPort } from '#gate';
import { JsonLines } from './json-lines.js';
import type { Program } from './walls.js';

const Said = z.union([
  z.strictObject({ manifest: z.unknown() }),
  z.strictObject({ id: z.int(), output: z.unknown() }),
  z.strictObject({ id: z.int(), error: z.string() }),
]);

/** A name that can hold no sentence: whatever does not look like one says nothing (A11.4). */
const typeName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

export interface ProcessOptions {
  readonly program: Program;
  /** Of one call. */
  readonly timeoutMs: number;
  readonly onManifest: (manifest: PluginManifest) => void;
  /** Once, and after it nothing more. `isWrong`: it would say the same again. */
  readonly onEnd: (why: string, isWrong: boolean) => void;
}

interface Waiting {
  readonly answer: (output: unknown) => void;
  readonly refuse: (error: FarmError) => void;
}

/** One life of a plugin: a process inside its walls, asked by lines of JSON. What it prints elsewhere nobody reads. */
export class PluginProcess implements PluginPort {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, Waiting>();
  /** Calls whose time is over and that the plugin has not let go yet. */
  private readonly lingering = new Map<number, NodeJS.Timeout>();
  private readonly starting: NodeJS.Timeout;
  private readonly pings: NodeJS.Timeout;
  private number = 0;
  private previews = 0;
  /** Once a life: what was turned on and consented to is what it said it is. */
  private said = false;
  private ended = false;

  constructor(private readonly options: ProcessOptions) {
    const { program, args } = options.program;
    this.child = spawn(program, args, { env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
    const lines = new JsonLines(
      limits.bodyBytes,
      (message) => this.hear(message),
      (why) => this.end(why, true),
    );
    this.child.stdout?.setEncoding('utf8').on('data', lines.push);
    this.child.stdin?.on('error', () => undefined);
    this.child.on('error', () => this.end('it could not be started', true));
    this.child.on('close', () => this.end('its process ended', false));
    this.starting = setTimeout(() => this.end('it did not say what it is', false), limits.pluginStartMs);
    this.pings = setInterval(() => void this.ping(), limits.pluginPingMs).unref();
  }

  run(ask: PluginAsk): Promise<unknown> {
    return this.ask('run', ask, this.options.timeoutMs);
  }

  /** A transaction of ours is open meanwhile: a plugin that does not answer holds few of them, and no more. */
  async preview(ask: PluginAsk): Promise<unknown> {
    if (this.previews >= limits.pluginPreviews) throw isBusy();
    this.previews += 1;
    try {
      return await this.ask('preview', ask, Math.min(this.options.timeoutMs, limits.pluginPreviewMs));
    } finally {
      this.previews -= 1;
    }
  }

  /** Ends it at once. Resolves when the process is gone. */
  async close(): Promise<void> {
    const gone = this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined;
    const closed = gone ? undefined : new Promise((resolve) => this.child.once('close', resolve));
    this.end('the controller closes', false);
    await closed;
  }

  private async ask(kind: 'run' | 'preview', { signal, ...asked }: PluginAsk, timeoutMs: number): Promise<unknown> {
    const { id, answered } = this.send({ do: kind, ...asked });
    const cancel = () => this.tell({ id, do: 'cancel' });
    const late = setTimeout(() => {
      this.refuse(id, timedOut());
      cancel();
      // Told to stop, and if it does not it is ended; with it all else that it was doing.
      const last = setTimeout(() => {
        if (this.lingering.delete(id)) this.end('it did not stop when its time was over', false);
      }, limits.pluginGraceMs).unref();
      this.lingering.set(id, last);
    }, timeoutMs);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await answered;
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', cancel);
    }
  }

  private send(message: object): { readonly id: number; readonly answered: Promise<unknown> } {
    this.number += 1;
    const id = this.number;
    const answered = new Promise<unknown>((answer, refuse) => this.waiting.set(id, { answer, refuse }));
    if (this.ended) this.refuse(id, hasEnded());
    else this.tell({ id, ...message });
    return { id, answered };
  }

  private tell(message: object): void {
    if (!this.ended) this.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  private hear(message: unknown): void {
    if (this.ended) return;
    const said = Said.safeParse(message);
    if (!said.success) this.end('it said something that the protocol does not know', true);
    else if ('manifest' in said.data && this.said) this.end('it said a second time what it is', true);
    else if ('manifest' in said.data) this.hearManifest(said.data.manifest);
    else if (this.waiting.has(said.data.id) || this.lingering.has(said.data.id)) this.hearAnswer(said.data);
    else this.end('it answered what it was not asked', true);
  }

  private hearManifest(given: unknown): void {
    this.said = true;
    clearTimeout(this.starting);
    const manifest = PluginManifest.safeParse(given);
    if (!manifest.success) {
      const [issue] = manifest.error.issues;
      const where = issue?.path.map(String).join('.') || 'the whole';
      this.end(`its manifest does not hold: ${where}: ${issue?.code ?? 'unknown'}`, true);
      return;
    }
    try {
      this.options.onManifest(manifest.data);
    } catch (error) {
      this.end(error instanceof Error ? error.message : 'its operations can not be taken', true);
    }
  }

  private hearAnswer(said: { readonly id: number; readonly output?: unknown; readonly error?: string }): void {
    clearTimeout(this.lingering.get(said.id));
    this.lingering.delete(said.id);
    if (said.error !== undefined) this.refuse(said.id, failed(said.error));
    else this.take(said.id)?.answer(said.output);
  }

  private refuse(id: number, error: FarmError): void {
    this.take(id)?.refuse(error);
  }

  private take(id: number): Waiting | undefined {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    return waiting;
  }

  private async ping(): Promise<void> {
    const { id, answered } = this.send({ do: 'ping' });
    const late = setTimeout(() => this.end('it did not answer', false), limits.pluginPingMs / 2).unref();
    await answered.catch(() => undefined);
    this.take(id);
    clearTimeout(late);
  }

  private end(why: string, isWrong: boolean): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.starting);
    clearInterval(this.pings);
    for (const last of this.lingering.values()) clearTimeout(last);
    // Its walls end with it, and all that stands within.
    this.child.kill('SIGKILL');
    for (const id of [...this.waiting.keys()]) this.refuse(id, hasEnded());
    this.options.onEnd(why, isWrong);
  }
}

/** The message may hold what a person said in confidence: the type is all that is told (A11.4). */
function failed(type: string): FarmError {
  return new FarmError('plugin_failed', `The plugin failed: ${typeName.test(type) ? type : 'Error'}`);
}

function isBusy(): FarmError {
  return new FarmError('unavailable', 'The plugin has not yet said what other calls would do; nothing was done', {
    retryAfterMs: limits.pluginPreviewMs,
  });
}

function timedOut(): FarmError {
  return new FarmError('timeout', 'The plugin did not answer in time; whether it was done is not known', {
    hint: 'Look whether it was done before you call again.',
  });
}

function hasEnded(): FarmError {
  return new FarmError('plugin_failed', 'The plugin ended before it answered; whether it was done is not known');
}
