import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newId } from '#contracts';
import { instantOf, machineClock } from '../../apps/worker/src/process/monotonic.js';
import {
  memberDoorPort,
  openSandbox,
  openSocketPlace,
  socketNames,
} from '../../apps/worker/src/process/sandbox/index.js';
import type { ProviderEvent } from '../../apps/worker/src/provider/events.js';
import type { Provider, ProviderSession, SessionRequest } from '../../apps/worker/src/provider/port.js';
import { trackPid } from '../support/processes.js';
import { tempDir } from '../support/temp-dir.js';
import type { TestDoor } from './a-door.js';

/** A session of a provider as its worker starts it, without a farm. */
export interface TestSession {
  readonly session: ProviderSession;
  readonly request: SessionRequest;
  /** Reads on to the first event that fits, and answers all that came since the last call, that one included. */
  until(fits: (event: ProviderEvent) => boolean): Promise<ProviderEvent[]>;
  /** Reads on to an event of this type. */
  untilType(type: ProviderEvent['type']): Promise<ProviderEvent[]>;
  rest(): Promise<ProviderEvent[]>;
}

export async function aSession(
  provider: Provider,
  door: TestDoor,
  request: Partial<SessionRequest> & Pick<SessionRequest, 'input'>,
  { walls = false }: { readonly walls?: boolean } = {},
): Promise<TestSession> {
  const folder = tempDir('session');
  const [workspace, stateFolder] = ['work', 'state'].map((name) => join(folder, name));
  if (workspace === undefined || stateFolder === undefined) throw new Error('no folders');
  mkdirSync(workspace);
  mkdirSync(stateFolder, { mode: 0o700 });
  const whole: SessionRequest = {
    marker: { worker: `w_${randomUUID()}`, job: newId(), epoch: 1 },
    lease: { sentAt: instantOf(machineClock), leaseMs: 300_000 },
    workspace,
    stateFolder,
    instructions: 'You are a member of a team.',
    memberDoor: door,
    environment: { PATH: process.env.PATH ?? '', HOME: folder },
    repositoryInstructions: true,
    graceMs: 2_000,
    ...request,
  };
  const place = walls ? await openWalls(provider, door, whole) : undefined;
  const session = await provider.start({ ...whole, ...place?.request });
  trackPid(session.tree.pid);
  trackPid(session.tree.guardianPid);
  void session.tree.exited.then(() => place?.close());
  const events = session.events[Symbol.asyncIterator]();
  const until = async (fits: (event: ProviderEvent) => boolean): Promise<ProviderEvent[]> => {
    const seen: ProviderEvent[] = [];
    for (;;) {
      const next = await events.next();
      if (next.done === true) throw new Error(`the session ended before that: ${JSON.stringify(seen)}`);
      seen.push(next.value);
      if (fits(next.value)) return seen;
    }
  };
  return {
    session,
    request: whole,
    until,
    untilType: (type) => until((event) => event.type === type),
    rest: async () => {
      const seen: ProviderEvent[] = [];
      for (let next = await events.next(); next.done !== true; next = await events.next()) seen.push(next.value);
      return seen;
    },
  };
}

/** The sandbox `bwrap` around a session, as its worker lays it: the proxy holds the account's key. */
async function openWalls(provider: Provider, door: TestDoor, request: SessionRequest) {
  const { account, program, workspace, stateFolder } = request;
  const needs = await provider.enclosureNeeds?.({
    ...(account === undefined ? {} : { account }),
    ...(program === undefined ? {} : { program }),
  });
  const keys = needs?.keys ?? [];
  const sandbox = await openSandbox({
    rung: 'bwrap',
    workspace,
    stateFolder,
    stateWritable: needs?.state ?? [],
    ownFolder: join(dirname(stateFolder), 'sandbox'),
    readable: needs?.readable ?? [],
    writable: needs?.writable ?? [],
    hidden: [],
    egress: { hosts: needs?.hosts ?? [] },
    keys: keys.map(({ secret, header, prefix = '', upstream }) => ({
      upstream: account?.upstream ?? upstream,
      header,
      value: `${prefix}${account?.secrets[secret]}`,
    })),
    memberDoor: true,
  });
  const socket = await openSocketPlace(join(dirname(stateFolder), 'sandbox'), socketNames.memberDoor);
  await door.serveAt(socket.path);
  const upstream = sandbox.upstreams[account?.upstream ?? ''];
  return {
    close: async () => {
      door.leave(socket.path);
      await socket.release();
      await sandbox.close();
    },
    request: {
      enclosure: sandbox.enclosure,
      environment: { ...request.environment, ...sandbox.environment },
      memberDoor: { url: `http://127.0.0.1:${memberDoorPort}/_internal/node/mcp`, token: door.token },
      ...(account === undefined || upstream === undefined
        ? {}
        : {
            account: {
              ...account,
              upstream,
              secrets: Object.fromEntries(keys.map(({ secret }) => [secret, 'held-by-the-sandbox'])),
            },
          }),
    },
  };
}
