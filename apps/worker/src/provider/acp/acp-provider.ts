import { access, constants } from 'node:fs/promises';
import { FarmError } from '#contracts';
import { startGuarded } from '../../process/guardian.js';
import type { Availability, AvailabilityWish, Provider } from '../port.js';
import { acpNeeds } from './acp-needs.js';
import { AcpSession } from './acp-session.js';
import { DoorRelay } from './door-relay.js';

/** Any agent that speaks the Agent Client Protocol: the machine's owner names its command (account of the kind `acp`). */
export const acpProvider: Provider = {
  name: 'acp',
  resumes: true,
  availability: (wish = {}) => acpAvailability(wish),
  enclosureNeeds: (wish) => acpNeeds(wish),

  async start(request) {
    const { program, account, environment, workspace, enclosure, marker, lease, graceMs } = request;
    if (program === undefined) throw new FarmError('misconfigured', unnamed.reason, { hint: unnamed.fix });
    if (!request.repositoryInstructions) throw notIsolated();
    const upstreamName = account?.agent?.upstreamName;
    const command = {
      file: program,
      args: [...(request.arguments ?? [])],
      cwd: workspace,
      environment: {
        ...environment,
        ...account?.environment,
        ...account?.secrets,
        ...(upstreamName === undefined || account?.upstream === undefined ? {} : { [upstreamName]: account.upstream }),
      },
    };
    const relay = await DoorRelay.lay(request);
    try {
      const tree = await startGuarded({
        command: enclosure?.(command) ?? command,
        marker,
        lease,
        ...(graceMs === undefined ? {} : { graceMs }),
      });
      void tree.exited.then(() => relay.remove());
      return new AcpSession(tree, request, relay.server);
    } catch (error) {
      await relay.remove();
      throw error;
    }
  },
};

/** The protocol has no word for it, and each agent looks for other files: better refused than read in silence. */
function notIsolated(): FarmError {
  return new FarmError('invalid_input', 'An ACP agent can not be kept from what a repository brings for agents.', {
    hint: 'Drop `extension_mode: isolated` of the member in the workflow, or give it another provider.',
  });
}

const unnamed = {
  usable: false,
  code: 'environment',
  reason: 'No ACP agent is named on this machine.',
  fix: 'Name one in worker.yaml: an account with `provider: acp` and its `command`.',
} as const;

async function acpAvailability({ program }: AvailabilityWish): Promise<Availability> {
  if (program === undefined) return unnamed;
  return access(program, constants.X_OK).then(
    (): Availability => ({ usable: true }),
    (): Availability => ({
      usable: false,
      code: 'environment',
      reason: 'The ACP agent of this account can not be started.',
      fix: 'Install it, or correct the `command` of the account in worker.yaml.',
    }),
  );
}
