import type { Random } from './random.js';

interface TeamMember {
  readonly id: string;
  readonly capabilities?: { readonly human_request?: readonly string[]; readonly command_run?: 'allow' };
  readonly children?: readonly TeamMember[];
}

const kinds = ['input', 'direction', 'approval', 'review'];

/** A workflow of one to twelve members, three levels at most; now and then a lead with eight below it. */
export function aTeam(id: string, random: Random): string {
  let left = random.int(0, 11);
  let made = 0;
  const member = (depth: number): TeamMember => {
    const name = made === 0 ? 'lead' : `m${made}`;
    made += 1;
    const most = random.chance(0.15) ? 8 : random.int(depth === 1 ? 1 : 0, 3);
    const children: TeamMember[] = [];
    while (depth < 3 && children.length < most && left > 0) {
      left -= 1;
      children.push(member(depth + 1));
    }
    const asks = random.chance(0.3) ? { human_request: random.shuffled(kinds).slice(0, random.int(1, 4)) } : {};
    const runs = random.chance(0.3) ? { command_run: 'allow' as const } : {};
    const capabilities = { ...asks, ...runs };
    return {
      id: name,
      ...(Object.keys(capabilities).length > 0 && { capabilities }),
      ...(children.length > 0 && { children }),
    };
  };
  return JSON.stringify({ kind: 'workflow', id, description: 'A team', lead: member(1) });
}
