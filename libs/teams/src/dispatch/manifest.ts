import type { TeamMemberRow } from '../rows.js';
import type { Picture } from './picture.js';

/** manifest.md of the Task directory: who there is, nothing of what they do now (§8.2 of the team rules). */
export function renderManifest(picture: Picture): string {
  const lines = [
    `# Task ${picture.task.id}`,
    '',
    `Workflow: ${picture.task.workflow_id}`,
    '',
    'The team, from the lead down. The order of members is no order of work.',
    '',
    ...picture.team.filter((row) => row.parent === null).flatMap((row) => describe(row, picture.team)),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function describe(row: TeamMemberRow, team: readonly TeamMemberRow[]): readonly string[] {
  const { title, description, instruction, provider, capabilities } = row.configuration;
  const children = team.filter((other) => other.parent === row.member);
  return [
    `## ${row.member}${title === undefined ? '' : `: ${title}`}`,
    '',
    `${children.length > 0 ? 'Manager' : 'Contributor'}${row.parent === null ? ', Task lead' : `, below ${row.parent}`}`,
    ...(provider === undefined
      ? []
      : [`Provider: ${provider.kind}${provider.model === undefined ? '' : ` ${provider.model}`}`]),
    ...(capabilities === undefined ? [] : [`May ask for: ${JSON.stringify(capabilities)}`]),
    ...(description === undefined ? [] : ['', description]),
    ...(instruction === undefined ? [] : ['', instruction]),
    '',
    ...children.flatMap((child) => describe(child, team)),
  ];
}
