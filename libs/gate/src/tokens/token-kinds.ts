import { z } from 'zod';
import { AgentId, BootId, Epoch, JobId, LeaseId, PersonId, SessionId, WorkerId } from '#contracts';

/** Audiences of a person's token: one door each. */
const personAudiences = ['cli', 'ui', 'mcp'] as const;

const times = { iss: z.string(), iat: z.int(), exp: z.int(), jti: z.string() };

/** HS256 is under a secret of the signing key, EdDSA under the key itself. */
export type TokenAlgorithm = 'EdDSA' | 'HS256';

export interface TokenKind<Claims> {
  readonly typ: string;
  /** The first signs; what comes after it is only read, as a release before signed with it. */
  readonly algorithms: readonly [TokenAlgorithm, ...TokenAlgorithm[]];
  readonly claims: z.ZodType<Claims>;
}

const WorkerClaims = z.strictObject({ ...times, aud: z.literal('node'), sub: WorkerId, boot: BootId });
export type WorkerClaims = z.output<typeof WorkerClaims>;

/** RFC 9068. */
const PersonClaims = z.strictObject({
  ...times,
  aud: z.enum(personAudiences),
  sub: PersonId,
  client_id: z.string().min(1),
  /** The login that it was made under: over with it. */
  sid: SessionId.exactOptional(),
});
export type PersonClaims = z.output<typeof PersonClaims>;

/** RFC 9068; `aud` is the one resource that it opens, `<public url>/mcp/agent`. */
const AgentClaims = z.strictObject({
  ...times,
  aud: z.url(),
  sub: AgentId,
  client_id: z.string().min(1),
  /** `job:<kind>` for each kind that it may take, by spaces (A12.11). */
  scope: z.string(),
  /** When the secret was made that it was given for, in milliseconds: it ends with its secret. */
  secret_at: z.int(),
});
export type AgentClaims = z.output<typeof AgentClaims>;

const JobTokenClaims = z.strictObject({
  ...times,
  aud: z.literal('job'),
  sub: JobId,
  epoch: Epoch,
  lease_id: LeaseId,
  kind: z.string(),
  holder: z.union([WorkerId, AgentId]),
});
export type JobTokenClaims = z.output<typeof JobTokenClaims>;

/**
 * The kinds are mutually exclusive: `typ` of the header and `aud` tell them apart, and each is read by its own validator only
 * (S4.1, S4.3). None carries grants: authority is read from rows at every call (S4.6).
 */
export const workerKind: TokenKind<WorkerClaims> = { typ: 'worker+jwt', algorithms: ['EdDSA'], claims: WorkerClaims };
export const personKind: TokenKind<PersonClaims> = { typ: 'at+jwt', algorithms: ['EdDSA'], claims: PersonClaims };
export const agentKind: TokenKind<AgentClaims> = { typ: 'at+jwt', algorithms: ['EdDSA'], claims: AgentClaims };
/** Nobody but controllers reads it, and one is made for each lease and each of its beats. */
export const jobKind: TokenKind<JobTokenClaims> = {
  typ: 'job+jwt',
  algorithms: ['HS256', 'EdDSA'],
  claims: JobTokenClaims,
};
