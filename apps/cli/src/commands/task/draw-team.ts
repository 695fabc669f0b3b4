import type { TaskView } from '#contracts';
import type { Paint } from '../../output/screen.js';
import { plainLine } from '../../output/terminal-text.js';

type Member = TaskView['team'][number];

const marks = { not_started: '·', working: '●', waiting: '○', done: '✓', blocked: '✗' } as const;

/** The team as a tree, a line for each member: where it stands, the step of its plan, what it said last. */
export function drawTeam(team: TaskView['team'], paint: Paint): string {
  const known = new Set(team.map(({ member_id }) => member_id));
  const below = (id: string | null) =>
    team.filter(({ parent_id }) => (parent_id !== null && known.has(parent_id) ? parent_id : null) === id);
  const lines: { readonly stem: string; readonly member: Member }[] = [];
  const grow = (id: string | null, indent: string): void => {
    const members = below(id);
    for (const [n, member] of members.entries()) {
      const last = n === members.length - 1;
      const branch = id === null ? '' : last ? '└─ ' : '├─ ';
      lines.push({ stem: indent + branch, member });
      grow(member.member_id, id === null ? '' : indent + (last ? '   ' : '│  '));
    }
  };
  grow(null, '');
  const width = Math.max(0, ...lines.map(({ stem, member }) => stem.length + plainLine(member.name).length));
  return lines.map(({ stem, member }) => memberLine(stem, member, width, paint)).join('\n');
}

function memberLine(stem: string, member: Member, width: number, paint: Paint): string {
  const { state, plan, latest_update, waits_for } = member;
  const name = plainLine(member.name);
  const color = {
    not_started: paint.dim,
    working: paint.cyan,
    waiting: paint.dim,
    done: paint.green,
    blocked: paint.red,
  };
  const step = plan?.steps.find(({ status }) => status === 'in_progress')?.step;
  const waits = waits_for === null ? undefined : `waiting: ${waits_for}`;
  const said = [waits, state === 'working' || state === 'waiting' ? step : undefined, latest_update ?? undefined]
    .flatMap((text) => (text === undefined ? [] : [plainLine(text)]))
    .join(' · ');
  const stand = color[state](`${marks[state]} ${state.replaceAll('_', ' ').padEnd(11)}`);
  return `${paint.dim(stem)}${name.padEnd(width - stem.length)}  ${stand}  ${said}`.trimEnd();
}
