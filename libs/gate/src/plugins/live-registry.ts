import type { Operation } from '../operation.js';
import { type Registry, registryOf } from '../registry.js';

/** Our operations, and those of the plugins that are well at this moment (A11.6). */
export class LiveRegistry<Services> implements Registry<Services> {
  private readonly plugins = new Map<string, readonly Operation<Services>[]>();
  private now: Registry<Services>;

  constructor(private readonly core: readonly Operation<Services>[]) {
    this.now = registryOf(core);
  }

  find(name: string): Operation<Services> | undefined {
    return this.now.find(name);
  }

  get all(): readonly Operation<Services>[] {
    return this.now.all;
  }

  /** Errors: DefinitionError when a name or a place in the command line is taken: then nothing of the plugin is there (A2.9). */
  add(plugin: string, operations: readonly Operation<Services>[]): void {
    const others = [...this.plugins].filter(([name]) => name !== plugin).flatMap(([, its]) => its);
    this.now = registryOf([...this.core, ...others, ...operations]);
    this.plugins.set(plugin, operations);
  }

  /** A plugin that is down has no operations at all (A11.5). */
  remove(plugin: string): void {
    if (this.plugins.delete(plugin)) this.now = registryOf([...this.core, ...[...this.plugins.values()].flat()]);
  }
}
