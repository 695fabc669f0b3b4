import { z } from 'zod';
import { contract } from './contract.js';
import { ObjectId, PoolName, Sha256 } from './ids.js';
import { limits } from './limits.js';
import { outsideText } from './outside-text.js';
import { cursorText, PageLimit } from './paging.js';
import { proseBytes, storable } from './text.js';

/** What people call a registered repository. */
export const RepositoryName = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-z0-9][a-z0-9._-]*$/)
  .describe('name of a registered repository');

/** A branch, a tag or a whole commit id, by git's own rules for names. */
export const GitRef = z
  .string()
  .min(1)
  .max(255)
  .regex(/^(?![-/.])(?!.*(?:\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)))(?!@$)[^\p{Cc} ~^:?*[\\]+(?<![/.])$/u);

/** A host that a Task's sandbox may reach: `registry.example.com`, `*.example.com`, with a port if it is not 443. */
export const EgressHost = z
  .string()
  .max(260)
  .regex(/^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(:\d{1,5})?$/);

/** Not `LONGSHORE_…`: those are the farm's own. */
export const VariableName = z
  .string()
  .max(128)
  .regex(/^(?!LONGSHORE_)[A-Za-z_][A-Za-z0-9_]*$/);

const variables = (valueBytes: number) =>
  z
    .record(VariableName, storable(valueBytes))
    .refine((given) => Object.keys(given).length <= limits.repositoryVariables, {
      params: { rule: `max_keys:${limits.repositoryVariables}` },
    });

/** How the controller opens the origin. Sealed when it is kept, never answered. */
export const RepositoryCredential = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none').describe('anybody may read it') }),
  z.strictObject({
    kind: z.literal('token').describe('a token or password over https'),
    username: storable(255)
      .refine((name) => name !== '' && !/[\r\n:]/.test(name), { params: { rule: 'username' } })
      .default('x-access-token')
      .describe('name beside the token; most hosts take any'),
    token: storable(limits.repositorySecretBytes)
      .refine((token) => token !== '' && !/[\r\n]/.test(token), {
        params: { rule: 'one_line' },
      })
      .describe('the token; sealed on the farm, never shown again'),
  }),
  z.strictObject({
    kind: z.literal('ssh_key').describe('a key over ssh'),
    private_key: storable(limits.repositorySecretBytes).describe(
      'the private key without a passphrase; sealed, never shown again',
    ),
  }),
]);
export type RepositoryCredential = z.output<typeof RepositoryCredential>;

/** What a commit only points to and the controller fetches beside the history, for Tasks that start from the repository. */
const RepositoryFetch = z.strictObject({
  lfs: z.boolean().describe('workspaces hold the contents of git-lfs (https only)'),
  submodules: z.boolean().describe('submodules are checked out in workspaces'),
});

const CredentialKind = z.enum(['none', 'token', 'ssh_key']);

export const RepositoryView = z.strictObject({
  name: RepositoryName,
  project: PoolName,
  url: z.string(),
  default_branch: z.string().nullable(),
  credential: CredentialKind,
  setup: outsideText(z.string()).nullable(),
  verify: outsideText(z.string()).nullable(),
  egress: z.array(z.string()),
  environment: z.record(z.string(), outsideText(z.string())),
  /** Names only. */
  secrets: z.array(z.string()),
  fetch: RepositoryFetch,
  /** Fingerprints of the ssh host's known keys. */
  host_keys: z.array(z.string()),
  added_by: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type RepositoryView = z.output<typeof RepositoryView>;

export const repoAdd = contract({
  name: 'repo_add',
  summary: 'Register a git repository that Tasks start from, with the credential that opens it.',
  input: z.strictObject({
    name: RepositoryName.describe('what people call it'),
    url: storable(limits.repositoryUrl).describe(
      'https://host/path, ssh://user@host/path or user@host:path; without credentials',
    ),
    project: PoolName.optional().describe("keeps mirrors and warm workspaces of one project from another's"),
    default_branch: GitRef.nullable()
      .optional()
      .describe("branch that Tasks start from; null: the one of the origin's HEAD"),
    credential: RepositoryCredential.optional().describe('what opens the origin'),
    host_keys: storable(limits.repositorySecretBytes)
      .optional()
      .describe('lines of known_hosts; absent: the keys of the first contact are taken'),
    setup: proseBytes(limits.repositoryCommand)
      .nullable()
      .optional()
      .describe('line for /bin/sh that is run once in a new workspace, in the sandbox'),
    verify: proseBytes(limits.repositoryCommand)
      .nullable()
      .optional()
      .describe('line for /bin/sh that the farm runs on the final tree of a Task'),
    egress: z
      .array(EgressHost)
      .max(limits.repositoryEgress)
      .optional()
      .describe('hosts that the sandbox may reach, such as *.example.com'),
    environment: variables(limits.repositoryVariableBytes).optional().describe('variables of the sandbox, by name'),
    secrets: variables(limits.repositorySecretBytes)
      .optional()
      .describe('secret variables of the sandbox, by name; sealed, never shown again'),
    fetch: RepositoryFetch.partial().optional().describe('what is fetched beside the history'),
    replace: z.boolean().default(false).describe('change the one of this name; what is not given stays as it is'),
  }),
  output: RepositoryView,
  errors: ['conflict', 'not_found', 'source_refused'],
  positional: ['name', 'url'],
});

export const repoCheck = contract({
  name: 'repo_check',
  summary: 'Ask the origin of a repository whether it answers, takes the credential and has the branch.',
  input: z.strictObject({ name: RepositoryName }),
  output: z.strictObject({
    name: RepositoryName,
    url: z.string(),
    /** A Task could start from it. */
    usable: z.boolean(),
    branch: z.string().nullable(),
    commit: ObjectId.nullable(),
    /** What the last commit only points to; null where the origin did not say in time. */
    lfs: z.strictObject({ files: z.int(), bytes: z.int(), paths: z.array(outsideText(z.string())) }).nullable(),
    submodules: z
      .array(
        z.strictObject({ path: outsideText(z.string()), commit: ObjectId, url: outsideText(z.string()).nullable() }),
      )
      .nullable(),
    host_keys: z.array(z.string()),
    /** What a person should know, in sentences. */
    notes: z.array(z.string()),
    /** Why no Task could start from it. */
    problem: z.strictObject({ code: z.string(), detail: z.string(), hint: z.string().nullable() }).nullable(),
  }),
  errors: ['not_found'],
  positional: ['name'],
});

export const repoList = contract({
  name: 'repo_list',
  summary: 'The registered repositories, by name.',
  input: z.strictObject({
    limit: PageLimit,
    cursor: RepositoryName.optional().describe(cursorText),
  }),
  output: z.strictObject({ items: z.array(RepositoryView), next_cursor: z.string().nullable() }),
});

export const repoRemove = contract({
  name: 'repo_remove',
  summary: 'Forget a repository, its credential, its secrets and its mirror.',
  input: z.strictObject({ name: RepositoryName }),
  output: z.strictObject({ name: RepositoryName, removed: z.literal(true) }),
  errors: ['not_found', 'conflict'],
  positional: ['name'],
});

/** What a Task names as its source: a registered repository by its name, or a URL. */
export const RepositoryWanted = z
  .strictObject({
    name: RepositoryName.optional(),
    url: storable(limits.repositoryUrl).optional().describe('in place of a name: URL of one that needs no credential'),
    ref: GitRef.optional().describe('branch, tag or commit; absent: the default branch'),
  })
  .refine(({ name, url }) => (name === undefined) !== (url === undefined), { params: { rule: 'name_or_url' } });
export type RepositoryWanted = z.output<typeof RepositoryWanted>;

/** What a job's sandbox is given of the repository that its Task started from: by GET with the job token only. */
export const JobSettings = z.strictObject({
  /** Null: the Task has no registered repository. */
  repository: z
    .strictObject({
      name: z.string().nullable(),
      project: z.string(),
      /** Without credentials. */
      origin: z.string(),
      setup: z.string().nullable(),
      verify: z.string().nullable(),
      egress: z.array(z.string()),
      environment: z.record(z.string(), z.string()),
      secrets: z.record(z.string(), z.string()),
      /** Pin of the submodules that the bundle brings along; absent: they are left empty. */
      submodules: ObjectId.optional(),
      /** Contents of git-lfs that the Task has, by sha256; absent: it works with the pointers. */
      lfs: z.array(Sha256).max(limits.lfsObjects).optional(),
    })
    .nullable(),
});
export type JobSettings = z.output<typeof JobSettings>;
