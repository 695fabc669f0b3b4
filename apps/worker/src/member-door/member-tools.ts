import { z } from 'zod';
import {
  addChild,
  type Contract,
  checkpoint,
  delegate,
  getCurrentContext,
  removeChild,
  setWorkPlan,
  updateChild,
} from '#contracts';

/** What a member may call, by name. Rules and answers are the controller's; the shapes stand in the contracts. */
export const memberContracts: ReadonlyMap<string, Contract> = new Map(
  [getCurrentContext, setWorkPlan, checkpoint, delegate, addChild, updateChild, removeChild].map(
    (contract): [string, Contract] => [contract.name, contract],
  ),
);

/** A tool as MCP lists it. */
export interface MemberTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
}

export const memberTools: readonly MemberTool[] = [...memberContracts.values()].map(({ name, summary, input }) => {
  const { '~standard': _, ...schema } = z.toJSONSchema(input, { target: 'draft-2020-12', io: 'input' });
  return { name, description: summary, inputSchema: { ...schema, type: 'object' } };
});
