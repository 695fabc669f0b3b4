import { z } from 'zod';
import { contract } from './contract.js';
import { PersonId, ServiceId, SessionId } from './ids.js';
import { limits } from './limits.js';
import { storable } from './text.js';

export const PersonName = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[a-z0-9][a-z0-9._@+-]*$/)
  .describe('name that the person logs in with, such as ada or ada@example.com');

export const RoleName = z
  .enum(['viewer', 'operator', 'admin'])
  .describe('each role may do what the roles before it may');

/** A password that is being chosen: length is what counts. */
export const NewPassword = storable(limits.passwordBytes).refine(
  (text) => [...text.normalize('NFKC')].length >= limits.passwordCharsLeast,
  { params: { rule: `min:${limits.passwordCharsLeast}` } },
);

export const PersonView = z.strictObject({
  person_id: PersonId,
  name: z.string(),
  role: RoleName,
  state: z.enum(['active', 'disabled']),
  /** `setup`: it has not been changed since an admin made it. */
  password: z.enum(['none', 'setup', 'own']),
  sessions: z.int(),
  created_at: z.string(),
});
export type PersonView = z.output<typeof PersonView>;

const onePerson = z.strictObject({ person: PersonName });

/** Shown once: whoever uses it must choose another one at once. */
const SetupPassword = z.strictObject({
  person_id: PersonId,
  name: z.string(),
  role: RoleName,
  setup_password: z.string(),
  expires_in_seconds: z.int(),
  /** Where it is used. */
  login: z.string(),
});

export const personCreate = contract({
  name: 'person_create',
  summary: 'Give a person an account; the answer has a setup password that is shown once.',
  input: z.strictObject({ name: PersonName, role: RoleName }),
  output: SetupPassword,
  errors: ['conflict'],
  positional: ['name', 'role'],
});

export const personList = contract({
  name: 'person_list',
  summary: 'The people of the farm.',
  input: z.strictObject({}),
  output: z.strictObject({ persons: z.array(PersonView) }),
});

export const personSetRole = contract({
  name: 'person_set_role',
  summary: 'Give a person another role; all their sessions end.',
  input: z.strictObject({ person: PersonName, role: RoleName }),
  output: PersonView,
  errors: ['not_found', 'conflict'],
  positional: ['person', 'role'],
});

export const personDisable = contract({
  name: 'person_disable',
  summary: 'Let a person in no more; all their sessions and service tokens end.',
  input: onePerson,
  output: PersonView,
  errors: ['not_found', 'conflict'],
  positional: ['person'],
});

export const personEnable = contract({
  name: 'person_enable',
  summary: 'Let a disabled person log in again.',
  input: onePerson,
  output: PersonView,
  errors: ['not_found'],
  positional: ['person'],
});

export const personResetPassword = contract({
  name: 'person_reset_password',
  summary: 'Make a new setup password, shown once; the old password and all sessions end.',
  input: onePerson,
  output: SetupPassword,
  errors: ['not_found'],
  positional: ['person'],
});

export const whoami = contract({
  name: 'whoami',
  summary: 'Who the farm takes you for.',
  input: z.strictObject({}),
  output: z.strictObject({
    id: z.string(),
    name: z.string(),
    role: RoleName,
    /** How you came in: the farm's own key, a login of the command line, a browser, a service token. */
    by: z.enum(['key', 'session', 'service_token']),
    door: z.string(),
    farm_id: z.string(),
  }),
});

export const SessionView = z.strictObject({
  session_id: SessionId,
  kind: z.enum(['browser', 'cli']),
  /** What the browser or the machine called itself. */
  client: z.string(),
  created_at: z.string(),
  /** To the minute. */
  used_at: z.string(),
  expires_at: z.string(),
  current: z.boolean(),
});

export const sessionList = contract({
  name: 'session_list',
  summary: 'Where you are logged in.',
  input: z.strictObject({}),
  output: z.strictObject({ sessions: z.array(SessionView) }),
});

export const sessionRevoke = contract({
  name: 'session_revoke',
  summary: 'End one of your sessions.',
  input: z.strictObject({ session_id: SessionId }),
  output: z.strictObject({ session_id: SessionId, ended: z.literal(true) }),
  errors: ['not_found'],
  positional: ['session_id'],
});

const ServiceAudience = z.enum(['cli', 'mcp']);

export const ServiceTokenView = z.strictObject({
  token_id: ServiceId,
  name: z.string(),
  role: RoleName,
  audience: ServiceAudience,
  created_by: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
  /** To the minute. */
  used_at: z.string().nullable(),
  state: z.enum(['active', 'expired', 'revoked', 'creator_disabled']),
});
export type ServiceTokenView = z.output<typeof ServiceTokenView>;

export const serviceTokenCreate = contract({
  name: 'service_token_create',
  group: 'service_token',
  summary: 'Make a token for a script or an MCP client, shown once.',
  input: z.strictObject({
    name: PersonName.describe('what the token is for, such as nightly'),
    role: RoleName.default('viewer').describe(
      'what it may do; at most your own role, also where that is lowered later',
    ),
    audience: ServiceAudience.default('cli').describe('cli: the command line and the HTTP API; mcp: the door /mcp'),
    expires_in_days: z.int().min(1).max(limits.serviceTokenDaysMost).default(90).describe('days until it ends'),
  }),
  output: z.strictObject({ token_id: ServiceId, token: z.string(), expires_at: z.string() }),
  errors: ['conflict'],
  positional: ['name'],
});

export const serviceTokenList = contract({
  name: 'service_token_list',
  group: 'service_token',
  summary: 'Service tokens with their last use: yours, or all for an admin.',
  input: z.strictObject({}),
  output: z.strictObject({ tokens: z.array(ServiceTokenView) }),
});

export const serviceTokenRevoke = contract({
  name: 'service_token_revoke',
  group: 'service_token',
  summary: 'End a service token, from its next call on.',
  input: z.strictObject({ token_id: ServiceId }),
  output: ServiceTokenView,
  errors: ['not_found'],
  positional: ['token_id'],
});

const KeyView = z.strictObject({
  kid: z.string(),
  use: z.enum(['current', 'next', 'previous']),
});

const KeyRing = z.strictObject({
  keys: z.array(KeyView),
  rotated_at: z.string(),
  /** Before that a rotation is refused: somebody may not know the next key yet, or still hold a token of the previous one. */
  rotatable_at: z.string(),
  /** Null: only by hand. */
  rotates_at: z.string().nullable(),
});

export const keyList = contract({
  name: 'key_list',
  summary: 'The keys that sign the tokens of this farm.',
  input: z.strictObject({}),
  output: KeyRing,
});

export const keyRotate = contract({
  name: 'key_rotate',
  summary: 'Sign with the next key; the current one verifies until its tokens are over.',
  input: z.strictObject({}),
  output: KeyRing,
  errors: ['conflict'],
});
