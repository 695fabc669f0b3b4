import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { FarmError } from '#contracts';
import { startGuarded } from '../../process/guardian.js';
import { sessionEnvironment } from '../../session/session-environment.js';
import type { Provider } from '../port.js';
import { findProgram } from '../program-files.js';
import { claudeAvailability } from './claude-availability.js';
import { claudeCommand } from './claude-command.js';
import { claudeNeeds } from './claude-needs.js';
import { ClaudeSession } from './claude-session.js';
import { writeMcpFile } from './mcp-config.js';

/** Anthropic's Claude Code, driven by its stream of JSON lines on stdin and stdout. */
export const claudeProvider: Provider = {
  name: 'claude',
  resumes: true,
  availability: (wish) => claudeAvailability(wish, sessionEnvironment(process.env)),
  enclosureNeeds: (wish) => claudeNeeds(wish, sessionEnvironment(process.env)),

  async start(request) {
    const session = request.resume?.ref ?? randomUUID();
    // it stands in an argument
    if (!/^[\w-]{1,128}$/.test(session)) throw new FarmError('invalid_input', 'This is no session of Claude Code.');
    const mcpFile = await writeMcpFile(request);
    try {
      const program = await findProgram(request.program ?? 'claude', request.environment.PATH ?? '');
      const command = claudeCommand({ ...request, program: program ?? 'claude' }, session, mcpFile);
      const tree = await startGuarded({
        command: request.enclosure?.(command) ?? command,
        marker: request.marker,
        lease: request.lease,
        ...(request.graceMs === undefined ? {} : { graceMs: request.graceMs }),
      });
      return new ClaudeSession(tree, request, mcpFile);
    } catch (error) {
      await rm(mcpFile, { force: true });
      throw error;
    }
  },
};
