import { z } from 'zod';
import {
  addChild,
  type Contract,
  checkpoint,
  delegate,
  getCurrentContext,
  HumanRequestKind,
  openHumanRequest,
  removeChild,
  setWorkPlan,
  startCommandRun,
  updateChild,
} from '#contracts';

/** What a member may call, by name. Rules and answers are the controller's; the shapes stand in the contracts. */
export const memberContracts: ReadonlyMap<string, Contract> = new Map(
  [
    getCurrentContext,
    setWorkPlan,
    checkpoint,
    delegate,
    addChild,
    updateChild,
    removeChild,
    openHumanRequest,
    startCommandRun,
  ].map((contract): [string, Contract] => [contract.name, contract]),
);

/** A tool as MCP lists it. */
export interface MemberTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [key: string]: unknown };
}

/** What a Dispatch lets its member call. */
export interface MemberExposure {
  readonly tools: readonly string[];
  readonly humanKinds: readonly z.output<typeof HumanRequestKind>[];
}

/**
 * The tools of one Dispatch, in the order of the operations: what it may ever call, and of what it may ask people only the kinds
 * that it was granted (I20).
 */
export function toolsOf({ tools, humanKinds }: MemberExposure): readonly MemberTool[] {
  return memberTools.flatMap((tool) => {
    if (!tools.includes(tool.name)) return [];
    return tool.name === openHumanRequest.name ? [toolOf({ ...openHumanRequest, input: askOf(humanKinds) })] : [tool];
  });
}

function askOf(kinds: readonly z.output<typeof HumanRequestKind>[]) {
  const { request } = openHumanRequest.input.shape;
  const kind = HumanRequestKind.extract([...kinds]).meta({ ...request.shape.kind.meta() });
  return z.strictObject({ request: request.extend({ kind }).meta({ ...request.meta() }) });
}

function toolOf({ name, summary, input }: Pick<Contract, 'name' | 'summary' | 'input'>): MemberTool {
  const { '~standard': _, ...schema } = z.toJSONSchema(input, { target: 'draft-2020-12', io: 'input' });
  return { name, description: summary, inputSchema: { ...schema, type: 'object' } };
}

const memberTools: readonly MemberTool[] = [...memberContracts.values()].map(toolOf);
