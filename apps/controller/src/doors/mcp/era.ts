import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';

/** The revision in which each request says all of itself, and those before, which begin with a handshake. */
export type Era = 'self_contained' | 'handshake';

/** Revisions that a door speaks, the newest first. */
export const revisions: Readonly<Record<Era, readonly string[]>> = {
  self_contained: ['2026-07-28'],
  handshake: SUPPORTED_PROTOCOL_VERSIONS,
};
