import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { FarmError, limits } from '#contracts';
import { type LiveRegistry, type PluginManifest, pluginOperations } from '#gate';
import type { PluginSettings } from '../configuration/settings.js';
import type { Services } from '../farm.js';
import { PluginProcess } from './plugin-process.js';
import { insideWalls } from './walls.js';

/**
 * starting  its process was started and has not said what it is
 * up        its operations are there
 * down      its process ended; it is started again after a pause
 * disabled  it is not started again before the controller is: what is wrong would be wrong again
 */
type PluginState = 'starting' | 'up' | 'down' | 'disabled';

export interface PluginStatus {
  readonly name: string;
  readonly state: PluginState;
  readonly version: string | null;
  readonly operations: readonly string[];
  /** Why it is down or disabled. */
  readonly reason: string | null;
  readonly since: Date;
}

interface HostOptions {
  readonly plugins: readonly PluginSettings[];
  readonly data: string;
  readonly log: Logger;
  readonly registry: LiveRegistry<Services>;
}

/** Starts the plugins of this controller, and again when they end. Operations come and go with them (A11.6). */
export class PluginHost {
  private readonly all: readonly RunningPlugin[];

  constructor({ plugins, ...needs }: HostOptions) {
    this.all = plugins.map((settings) => new RunningPlugin(settings, needs));
  }

  async start(): Promise<void> {
    await Promise.all(this.all.map((plugin) => plugin.start()));
  }

  list(): readonly PluginStatus[] {
    return this.all.map(({ status }) => status);
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((plugin) => plugin.close()));
  }
}

class RunningPlugin {
  status: PluginStatus;
  private process: PluginProcess | undefined;
  private again: NodeJS.Timeout | undefined;
  private lives = 0;
  private closed = false;

  constructor(
    private readonly settings: PluginSettings,
    private readonly needs: Omit<HostOptions, 'plugins'>,
  ) {
    this.status = {
      name: settings.name,
      state: 'starting',
      version: null,
      operations: [],
      reason: null,
      since: new Date(),
    };
  }

  async start(): Promise<void> {
    const { data } = this.needs;
    const { name, timeoutMs, ...place } = this.settings;
    const state = join(data, 'plugins', name);
    try {
      await mkdir(state, { recursive: true, mode: 0o700 });
      const program = await insideWalls({ ...place, state, data });
      if (this.closed) return;
      this.become({ state: 'starting' });
      const process = new PluginProcess({
        program,
        timeoutMs,
        onManifest: (manifest) => this.comeUp(manifest, process),
        onEnd: (why, isWrong) => this.goDown(why, isWrong),
      });
      this.process = process;
    } catch (error) {
      this.goDown(error instanceof FarmError ? error.detail : 'it could not be started', true);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.again);
    await this.process?.close();
  }

  private comeUp(manifest: PluginManifest, process: PluginProcess): void {
    const { name } = this.settings;
    const operations = pluginOperations<Services>(name, manifest, process);
    this.needs.registry.add(name, operations);
    this.lives = 0;
    this.become({
      state: 'up',
      version: manifest.version,
      operations: operations.map((operation) => operation.name),
    });
    this.needs.log.info({ plugin: name, version: manifest.version }, 'a plugin is up');
  }

  private goDown(reason: string, isWrong: boolean): void {
    const { name } = this.settings;
    this.needs.registry.remove(name);
    if (this.closed) return;
    this.become({ state: isWrong ? 'disabled' : 'down', reason });
    this.needs.log.warn({ plugin: name, reason }, isWrong ? 'a plugin is disabled' : 'a plugin is down');
    if (isWrong) return;
    const pause = Math.min(limits.pluginRestartMs * 2 ** this.lives, limits.pluginRestartMostMs);
    this.lives += 1;
    this.again = setTimeout(() => void this.start(), pause).unref();
  }

  private become(status: Pick<PluginStatus, 'state'> & Partial<PluginStatus>): void {
    const { name } = this.settings;
    this.status = { name, version: null, operations: [], reason: null, since: new Date(), ...status };
  }
}
