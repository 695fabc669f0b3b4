import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { taskStart, workflowImport } from '#contracts';
import { Farm, type FarmOptions, type FarmWorker } from '../support/farm.js';
import { scriptMark } from '../support/model-server/script.js';

/** A real agent as the owner of a machine writes it into `worker.yaml`, with the scripted model as its upstream. */
export interface AgentAccount {
  /** `team` by default; one name is one login on all machines. */
  readonly name?: string;
  /** Of workflows: `claude`. */
  readonly provider: string;
  readonly program: string;
  readonly upstream: string;
  /** A canary: what it stands in is where a key goes. */
  readonly key: string;
  /** The variable that its program wants the key in; its usual one by default. */
  readonly keyName?: string;
}

/** A whole farm whose one member is a real agent. */
export class AgentFarm {
  private constructor(
    readonly farm: Farm,
    private readonly account: AgentAccount,
  ) {}

  static async start(account: AgentAccount, options: FarmOptions = {}): Promise<AgentFarm> {
    const farm = await Farm.start(options);
    for (const mode of ['inherit', 'isolated']) {
      const lead = { id: 'lead', provider: { kind: account.provider, extension_mode: mode } };
      const workflow = { kind: 'workflow', id: mode, description: 'One member that is a real agent.', lead };
      await farm.client.call(workflowImport, { document: stringify(workflow) });
    }
    return new AgentFarm(farm, account);
  }

  /** A machine that has the agent; `changes` to its account are what its owner got wrong. */
  join(
    name: string,
    changes: Partial<AgentAccount> = {},
    options: Parameters<Farm['join']>[1] = {},
  ): Promise<FarmWorker> {
    const { name: accountName = 'team', key, keyName, ...account } = { ...this.account, ...changes };
    const home = join(this.farm.data, 'workers', name);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeFileSync(join(home, 'key'), key, { mode: 0o600 });
    const entry = { ...account, key: { file: 'key', ...(keyName === undefined ? {} : { name: keyName }) } };
    writeFileSync(join(home, 'worker.yaml'), stringify({ accounts: { [accountName]: entry } }), { mode: 0o600 });
    return this.farm.join(name, { slots: 1, ...options });
  }

  /** Starts a Task whose member's model plays this script; isolated: what the repository brings for agents is not read. */
  async startTask(script: string, mode: 'inherit' | 'isolated' = 'inherit'): Promise<string> {
    const { task_id } = await this.farm.client.call(taskStart, {
      workflow_id: mode,
      prompt: `${scriptMark(script)} Do your work.`,
    });
    return task_id;
  }
}
