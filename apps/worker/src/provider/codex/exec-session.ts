import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { limits } from '#contracts';
import type { GuardedTree, TreeEnd } from '../../process/guarded-tree.js';
import { StreamTail } from '../bounded-lines.js';
import type { ProviderEvent, ProviderFailure } from '../events.js';
import type { ProviderSession, SessionRequest } from '../port.js';
import { sessionEvents } from '../session-events.js';
import { SessionGate } from '../session-gate.js';
import { scrubbedEvent, secretsOf, withoutSecrets } from '../without-secrets.js';
import { type Counted, eventOfExecItem, failureOfExec, parseExecLine, usageOfExec } from './exec-events.js';

/**
 * One turn of `codex exec`, for a Codex without its app-server: its process ends with the turn, and the session goes on in
 * another by `resume`. It can be ended, but neither steered nor interrupted.
 */
export class ExecSession implements ProviderSession {
  readonly events: AsyncIterable<ProviderEvent>;
  private readonly stderr: StreamTail;
  private readonly gate = new SessionGate('Codex');

  constructor(
    readonly tree: GuardedTree,
    private readonly request: SessionRequest,
    private readonly home: string,
  ) {
    this.stderr = new StreamTail(tree.stderr, limits.providerStderrBytes);
    this.events = sessionEvents(
      tree,
      (line) => this.read(line).flatMap((event) => this.gate.expand(scrubbedEvent(event, secretsOf(request)))),
      {
        explain: () => (request.resume === undefined ? this.gate.whyNotBegun() : sessionGone),
      },
    );
    void tree.exited.then(() => removeExecFile(home));
    tree.stdin.end(request.input);
  }

  get ref(): string | undefined {
    return this.gate.ref;
  }

  say(): Promise<'not_running'> {
    return Promise.resolve('not_running');
  }

  steer(): Promise<'not_running'> {
    return Promise.resolve('not_running');
  }

  interrupt(): Promise<'not_running'> {
    return Promise.resolve('not_running');
  }

  stop(options?: { readonly graceMs?: number }): Promise<TreeEnd> {
    return this.tree.stop(options);
  }

  diagnostics(): string {
    return withoutSecrets(this.stderr.text, secretsOf(this.request));
  }

  private read(text: string): readonly ProviderEvent[] {
    const line = parseExecLine(text);
    switch (line?.type) {
      case 'thread.started':
        this.gate.takeThread(line.thread_id);
        removeExecFile(this.home);
        return [];
      case 'item.started':
      case 'item.completed':
        return [eventOfExecItem(line.type, line.item) ?? []].flat();
      case 'turn.completed':
        return [this.count(line.usage), { type: 'turn_end', how: 'finished' }];
      case 'turn.failed':
        return [
          { type: 'failed', failure: failureOfExec(line.error.message) },
          { type: 'turn_end', how: 'failed' },
        ];
      case undefined:
        return [];
    }
  }

  /** `exec` counts from the start of the thread: what its earlier processes used is counted already. */
  private count(total: Counted): ProviderEvent {
    const file = join(this.home, 'counted.json');
    const before = readCounted(file);
    writeFileSync(file, JSON.stringify(total), { mode: 0o600 });
    return usageOfExec(total, before, this.request.model);
  }
}

/** Holds the door's token and the instructions until the session has begun (H34). */
export const execFile = (home: string): string => join(home, 'config.toml');

function removeExecFile(home: string): void {
  rmSync(execFile(home), { force: true });
}

const KeptCount = z.looseObject({
  input_tokens: z.int().min(0),
  cached_input_tokens: z.int().min(0),
  output_tokens: z.int().min(0),
});

function readCounted(file: string): Counted {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return KeptCount.parse(content);
  } catch {
    return { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 };
  }
}

const sessionGone: ProviderFailure = { class: 'invalid', detail: 'The session to go on with is not there any more.' };
