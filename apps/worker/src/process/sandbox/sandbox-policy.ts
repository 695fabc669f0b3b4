import { FarmError } from '#contracts';
import { proveRungs, type RungProof } from './prove-rungs.js';
import type { SandboxRung } from './rules.js';
import type { SandboxSettings } from './sandbox-settings.js';

/** What asks for a rung. */
export interface RungWish {
  /** A real agent, or code that one wrote: never unsandboxed by accident (H28). The scripted provider is neither. */
  readonly foreign: boolean;
  /** `sandbox.mode` of the workflow, where it says one. */
  readonly mode?: 'read_only' | 'workspace_write' | 'full_access' | undefined;
}

/** Which rung a session gets on this machine: what its owner set, what the workflow asks for, and what was proved to work. */
export class SandboxPolicy {
  constructor(
    readonly settings: SandboxSettings,
    private readonly proofs: readonly RungProof[],
  ) {}

  /** Runs each rung once, so that nothing is promised that does not work here. */
  static async prove(settings: SandboxSettings): Promise<SandboxPolicy> {
    return new SandboxPolicy(settings, await proveRungs());
  }

  /**
   * Never a weaker rung than is asked for: the job goes to another machine instead.
   *
   * @throws FarmError `misconfigured` (a fault of this machine, H11)
   */
  rungFor({ foreign, mode }: RungWish): SandboxRung {
    const { rung, unsafe } = this.settings;
    const walls = mode === 'read_only' || mode === 'workspace_write';
    if (rung === 'bwrap' || walls || (rung === 'auto' && foreign && (this.hasWalls || !unsafe)))
      return this.walls(walls);
    if (foreign && !unsafe) throw withoutWalls(`LONGSHORE_SANDBOX is ${rung}`);
    if (rung === 'auto') return foreign && this.works('process') ? 'process' : 'none';
    return rung;
  }

  /** Values of `sandbox:` labels that hold here: the rungs that a job may be given. */
  get rungs(): readonly SandboxRung[] {
    const { rung } = this.settings;
    const offered: readonly SandboxRung[] = rung === 'auto' || rung === 'bwrap' ? ['bwrap'] : [];
    return offered.filter((name) => this.works(name));
  }

  /** Said at every start where the owner lets agents run without walls (H28). */
  get notice(): string | undefined {
    if (!this.settings.unsafe) return undefined;
    const { rung } = this.settings;
    if (this.hasWalls && (rung === 'auto' || rung === 'bwrap')) {
      return 'UNSAFE is set and not needed: the sandbox bwrap works here, and agents run in it.';
    }
    return 'UNSAFE: agents run on this machine WITHOUT WALLS. They can read your files and keys and reach every host that you can.';
  }

  private walls(asked: boolean): SandboxRung {
    const { rung } = this.settings;
    if (asked && (rung === 'none' || rung === 'process')) throw withoutWalls(`LONGSHORE_SANDBOX is ${rung}`);
    if (this.hasWalls) return 'bwrap';
    const proof = this.proofs.find((other) => other.rung === 'bwrap');
    throw withoutWalls(proof?.found ?? 'it was not tried', proof?.fix);
  }

  private get hasWalls(): boolean {
    return this.works('bwrap');
  }

  private works(rung: SandboxRung): boolean {
    return this.proofs.some((proof) => proof.rung === rung && proof.works);
  }
}

function withoutWalls(why: string, fix?: string): FarmError {
  return new FarmError(
    'misconfigured',
    `This session needs the sandbox bwrap, which this machine does not give: ${why}.`,
    {
      hint: `${fix === undefined ? '' : `${fix} `}\`longshore doctor\` tries it; --unsafe (LONGSHORE_UNSAFE=1) lets agents run without walls.`,
    },
  );
}
