import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Provider, SessionRequest } from '../../apps/worker/src/provider/port.js';
import { buildOnce } from '../support/build.js';
import { ModelServer } from '../support/model-server/model-server.js';
import { type ScriptInput, scriptMark } from '../support/model-server/script.js';
import { tempDir } from '../support/temp-dir.js';
import { aDoor, type TestDoor } from './a-door.js';
import { aSession, type TestSession } from './a-session.js';

/** What the sessions of one spec share: a scripted model and a member door, from the first test to the last. */
export interface SessionStage {
  readonly model: ModelServer;
  readonly door: TestDoor;
  /** A session whose model plays this script; its name stands in the prompt. */
  start(name: string, sessions: ScriptInput['sessions'], more?: Partial<SessionRequest>): Promise<TestSession>;
  /** Ends it with the test. */
  keep(started: TestSession): TestSession;
}

/** `usual`: what every session of the spec is asked with, unless a test says otherwise. */
export function sessionStage(provider: Provider, usual: () => Partial<SessionRequest>): SessionStage {
  let model: ModelServer;
  let door: TestDoor;
  const open: TestSession[] = [];
  const keep = (started: TestSession): TestSession => {
    open.push(started);
    return started;
  };

  beforeAll(async () => {
    await buildOnce();
    model = await ModelServer.start();
    door = await aDoor();
  });
  afterEach(async () => {
    door.calls.length = 0;
    for (const { session } of open.splice(0)) await session.stop({ graceMs: 0 });
  });
  afterAll(async () => {
    door.close();
    await model.close();
  });

  return {
    get model() {
      return model;
    },
    get door() {
      return door;
    },
    async start(name, sessions, more = {}) {
      model.script(name, { sessions });
      const input = `${scriptMark(name)} ${more.input ?? 'Do your work.'}`;
      return keep(await aSession(provider, door, { ...usual(), ...more, input }));
    },
    keep,
  };
}

/** A workspace with these files in it. */
export function aRepository(files: Readonly<Record<string, string>>): Pick<SessionRequest, 'workspace'> {
  const workspace = tempDir('repository');
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), content);
  }
  return { workspace };
}
