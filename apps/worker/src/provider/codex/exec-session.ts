import { join } from 'node:path';
import { limits } from '#contracts';
import type { GuardedTree, TreeEnd } from '../../process/guarded-tree.js';
import { StreamTail } from '../bounded-lines.js';
import type { ProviderEvent, ProviderFailure } from '../events.js';
import type { ProviderSession, SessionRequest } from '../port.js';
import { sessionEvents } from '../session-events.js';
import { SessionGate } from '../session-gate.js';
import { scrubbedEvent, secretsOf, withoutSecrets } from '../without-secrets.js';
import { removeFromHome } from './codex-home.js';
import { countAnew } from './counted-so-far.js';
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
    void tree.exited.then(() => removeFromHome(home, execFileName));
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
        removeFromHome(this.home, execFileName);
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
    return usageOfExec(total, countAnew(this.request.stateFolder, total), this.request.model);
  }
}

const execFileName = 'config.toml';

/** Holds the door's token and the instructions until the session has begun (H34). */
export const execFile = (home: string): string => join(home, execFileName);

const sessionGone: ProviderFailure = { class: 'invalid', detail: 'The session to go on with is not there any more.' };
