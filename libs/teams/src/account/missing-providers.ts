import { WorkflowDocument, type WorkflowMember } from '#contracts';
import { type AccountWish, chooseAccount, type Machine, providerAskedFor } from './choose-account.js';
import { whyUnusable } from './why-unusable.js';

/** Where work of a workflow would run, and who does the turns of members that name nobody. */
interface Surroundings {
  readonly pool: string;
  readonly labels: readonly string[];
  readonly provider: string;
  readonly account?: string | undefined;
}

/** Members whose provider or account no machine that is here offers: the Task would wait for one. One sentence each. */
export function missingProviders(
  content: unknown,
  machines: readonly Machine[],
  { pool, labels, provider, account }: Surroundings,
): readonly string[] {
  const { lead } = WorkflowDocument.parse(content);
  const wishes = membersBelow(lead).map((member): [string, AccountWish] => [
    member.id,
    member.provider === undefined
      ? { provider, named: account, pool, labels }
      : { provider: member.provider.kind, named: member.provider.account ?? account, pool, labels },
  ]);
  const lacking = wishes.flatMap(([id, wish]) => {
    const chosen = chooseAccount(wish, machines, []);
    if (chosen === undefined || machines.some(({ offers }) => offers.some(({ name }) => name === chosen))) return [];
    return [{ id, what: told(chosen, wish, machines) }];
  });
  return [...Map.groupBy(lacking, ({ what }) => what)].map(
    ([what, members]) =>
      `No machine that is here and fits has the ${what}, which ${members.map(({ id }) => id).join(', ')} needs: the work waits for one. \`longshore worker list\` shows what machines offer.`,
  );
}

function told(chosen: string, { provider }: AccountWish, machines: readonly Machine[]): string {
  if (providerAskedFor(chosen) === undefined)
    return `account ${chosen}${whyUnusable(machines, ({ name }) => name === chosen)}`;
  return `provider ${provider}${whyUnusable(machines, (offer) => offer.provider === provider)}`;
}

function membersBelow(member: WorkflowMember): readonly WorkflowMember[] {
  return [member, ...(member.children ?? []).flatMap(membersBelow)];
}
