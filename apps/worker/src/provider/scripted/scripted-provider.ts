import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '#contracts';
import { makePrivateFolder } from '../../private-file.js';
import { childMain, packageOf } from '../../process/child-main.js';
import type { GuardedTree, TreeCommand, TreeEnd } from '../../process/guarded-tree.js';
import { startGuarded } from '../../process/guardian.js';
import { StreamTail } from '../bounded-lines.js';
import type { ProviderEvent } from '../events.js';
import type { Delivery, Provider, ProviderSession, SessionMessage, SessionRequest } from '../port.js';
import { sessionEvents } from '../session-events.js';
import { type ScriptedOrder, ScriptedReport } from './protocol.js';

type Answer = 'delivered' | 'not_running' | 'uncertain';
type Question = Extract<ScriptedOrder, { id: number }>;
type WithoutId<Order> = Order extends Question ? Omit<Order, 'id'> : never;

const memoryFolder = 'scripted';

/** No model: does the steps of a YAML script that the prompt holds. The embedded default, the demo, the tests. */
export const scriptedProvider: Provider = {
  name: 'scripted',
  resumes: true,
  availability: async () => ({ usable: true }),
  enclosureNeeds: async () => ({ readable: ownFiles(), writable: [], state: [memoryFolder], hosts: [], keys: [] }),

  async start(request) {
    await makePrivateFolder(join(request.stateFolder, memoryFolder));
    // A file and not the environment: the agent's own shells inherit that (H34).
    const doorFile = join(request.stateFolder, `member-door-${randomUUID()}.json`);
    await writeFile(doorFile, JSON.stringify(request.memberDoor), { mode: 0o600, flag: 'wx' });
    try {
      const tree = await startGuarded({
        command: commandOf(request),
        marker: request.marker,
        lease: request.lease,
        ...(request.graceMs === undefined ? {} : { graceMs: request.graceMs }),
      });
      return new ScriptedProviderSession(tree, request, doorFile);
    } catch (error) {
      await rm(doorFile, { force: true });
      throw error;
    }
  },
};

/** It runs from this package itself. */
function ownFiles(): readonly string[] {
  return ['dist', 'node_modules', 'package.json'].map((name) => join(ownRoot(), name));
}

/** `scripted-main.ts` in one file. */
const agentProgram = (): string => join(ownRoot(), 'dist/scripted-agent.js');

const ownRoot = (): string => packageOf(childMain(import.meta.url, './scripted-main.js'));

function commandOf(request: SessionRequest): TreeCommand {
  const command = {
    file: process.execPath,
    args: [agentProgram()],
    cwd: request.workspace,
    environment: request.environment,
  };
  return request.enclosure?.(command) ?? command;
}

class ScriptedProviderSession implements ProviderSession {
  readonly events: AsyncIterable<ProviderEvent>;
  private sessionRef: string | undefined;
  private readonly stderr: StreamTail;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private asked = 0;
  private over = false;

  constructor(
    readonly tree: GuardedTree,
    private readonly request: SessionRequest,
    private readonly doorFile: string,
  ) {
    this.stderr = new StreamTail(tree.stderr, limits.providerStderrBytes);
    this.events = sessionEvents(tree, (line) => this.read(line));
    void tree.exited.then(() => this.end());
    this.send({
      type: 'begin',
      instructions: request.instructions,
      input: request.input,
      epoch: request.marker.epoch,
      door_file: doorFile,
      memory_file: join(request.stateFolder, memoryFolder, 'session.json'),
      ...(request.resume === undefined ? {} : { ref: request.resume.ref }),
    });
  }

  get ref(): string | undefined {
    return this.sessionRef;
  }

  say(message: SessionMessage): Promise<Answer> {
    const count = message.kind === 'reminder' ? message.count : 0;
    return this.ask({ type: 'say', kind: message.kind, count, text: message.text });
  }

  steer(text: string): Promise<Delivery> {
    return this.ask({ type: 'steer', text });
  }

  interrupt(): Promise<Answer> {
    return this.ask({ type: 'interrupt' });
  }

  stop(options?: { readonly graceMs?: number }): Promise<TreeEnd> {
    return this.tree.stop(options);
  }

  diagnostics(): string {
    return this.stderr.text.replaceAll(this.request.memberDoor.token, '***');
  }

  private ask(question: WithoutId<Question>): Promise<Answer> {
    if (this.over) return Promise.resolve('not_running');
    this.asked += 1;
    const id = this.asked;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.waiting.set(id, resolve);
    this.send({ ...question, id });
    return promise;
  }

  private send(order: ScriptedOrder): void {
    this.tree.stdin.write(`${JSON.stringify(order)}\n`);
  }

  /** One line of the stream; what is no report (a flood, a stray print) is no event. */
  private read(line: string): ProviderEvent | undefined {
    const report = parseReport(line);
    if (report === undefined) return undefined;
    if (report.type === 'ack') {
      this.waiting.get(report.id)?.(report.delivery);
      this.waiting.delete(report.id);
      return undefined;
    }
    if (report.type === 'session') {
      this.sessionRef = report.ref;
      void rm(this.doorFile, { force: true });
    }
    return report;
  }

  private async end(): Promise<void> {
    this.over = true;
    for (const answer of this.waiting.values()) answer('uncertain');
    this.waiting.clear();
    await rm(this.doorFile, { force: true });
  }
}

function parseReport(line: string): ScriptedReport | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const content: unknown = JSON.parse(line);
    return ScriptedReport.safeParse(content).data;
  } catch {
    return undefined;
  }
}
