/** The plugin of `<plugin>.<name>`; core operations have none (A2.1). */
export function pluginOf(name: string): string | undefined {
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : name.slice(0, dot);
}

/** How settings and grants name all operations of a plugin. */
export const pluginTarget = (plugin: string): string => `plugin:${plugin}`;

/** Everything that a row about this operation may be written under. */
export function targetsOf(name: string): readonly string[] {
  const plugin = pluginOf(name);
  return plugin === undefined ? [name] : [name, pluginTarget(plugin)];
}
