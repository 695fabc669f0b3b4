import { access, constants } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { FarmError } from '#contracts';
import { startGuarded } from '../../process/guardian.js';
import type { Availability, AvailabilityWish, EnclosureNeeds, Provider } from '../port.js';
import { foldersOfProgram } from '../program-files.js';
import { AcpSession } from './acp-session.js';

/** Any agent that speaks the Agent Client Protocol: the machine's owner names its command (account of the kind `acp`). */
export const acpProvider: Provider = {
  name: 'acp',
  resumes: true,
  availability: (wish = {}) => acpAvailability(wish),
  enclosureNeeds: (wish) => acpNeeds(wish),

  async start(request) {
    const { program, account, environment, workspace, enclosure, marker, lease, graceMs } = request;
    if (program === undefined) throw new FarmError('misconfigured', unnamed.reason, { hint: unnamed.fix });
    const command = {
      file: program,
      args: [...(request.arguments ?? [])],
      cwd: workspace,
      environment: { ...environment, ...account?.environment, ...account?.secrets },
    };
    const tree = await startGuarded({
      command: enclosure?.(command) ?? command,
      marker,
      lease,
      ...(graceMs === undefined ? {} : { graceMs }),
    });
    return new AcpSession(tree, request);
  },
};

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

/** Its program and the files that its arguments name; of hosts only the one that its account names. */
async function acpNeeds(wish: AvailabilityWish): Promise<EnclosureNeeds> {
  const { program, account } = wish;
  const files = [program, ...(wish.arguments ?? [])].filter((word) => word !== undefined && isAbsolute(word));
  const folders = await Promise.all(files.map((file) => foldersOfProgram(file ?? '')));
  return {
    readable: [...new Set(folders.flat())],
    writable: [],
    hosts: account?.upstream === undefined ? [] : [new URL(account.upstream).host],
    keys: [],
  };
}
