/**
 * Whose configuration git reads. `farm`: none but ours, for repositories that an agent or a stranger could write (H2, H31).
 * `user`: the user's own, for the user's own checkout, so that ignore rules and filters mean what `git status` says; hooks and
 * fsmonitor are off there too.
 */
export type GitSettings = 'farm' | 'user';

const carried: Record<GitSettings, readonly string[]> = {
  farm: ['PATH'],
  user: ['PATH', 'HOME', 'XDG_CONFIG_HOME', 'USER', 'LOGNAME', 'TMPDIR'],
};

const always = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.splitIndex': 'false',
  'core.untrackedCache': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'protocol.allow': 'never',
};

const farmOnly = {
  'core.attributesFile': '/dev/null',
  'core.excludesFile': '/dev/null',
  'core.autocrlf': 'false',
  'core.fileMode': 'true',
  'core.symlinks': 'true',
  'core.bigFileThreshold': '64m',
  'core.logAllRefUpdates': 'false',
  // both are files beside the objects that an agent can write and that would be believed
  'core.commitGraph': 'false',
  'core.multiPackIndex': 'false',
  'core.packedGitWindowSize': '32m',
  'core.packedGitLimit': '512m',
  'safe.bareRepository': 'explicit',
  'transfer.fsckObjects': 'true',
};

/** H4: git syncs nothing of this by default. */
const durably = { 'core.fsync': 'committed,loose-object,reference', 'core.fsyncMethod': 'fsync' };
const loosely = { 'core.fsync': 'none' };

interface EnvironmentWanted {
  readonly settings: GitSettings;
  readonly durable: boolean;
  readonly config: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, string>>;
}

/** The whole environment of one git process: an allow list of ours, never a `GIT_*` of the process that we run in. */
export function gitEnvironment(wanted: EnvironmentWanted): Record<string, string> {
  const own = Object.fromEntries(
    carried[wanted.settings].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const closed =
    wanted.settings === 'farm'
      ? { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', GIT_ATTR_NOSYSTEM: '1' }
      : {};
  const config = {
    ...always,
    ...(wanted.settings === 'farm' ? farmOnly : {}),
    ...(wanted.durable ? durably : loosely),
    ...wanted.config,
  };
  return {
    ...own,
    ...closed,
    ...asVariables(config),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    ...wanted.extra,
  };
}

function asVariables(config: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(config);
  const pairs = entries.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(entries.length), ...Object.fromEntries(pairs) };
}
