import type { Queries, Transaction } from '#store';
import { checkpointRule } from '../checkpoint/checkpoint-rule.js';
import { commandRule } from '../command-run/command-rule.js';
import { requestRule } from '../human-request/request-rule.js';
import type { TeamParts } from '../parts.js';
import { replanRule } from '../replan/replan-rule.js';
import { delegateRule } from '../wave/delegate-rule.js';
import type { HandoverBody } from './handover-body.js';
import type { Arrived, HandoverRule, NamedFile, Standing } from './handover-rule.js';

interface BoundRule {
  check(queries: Queries, standing: Standing): Promise<void>;
  readonly files: readonly NamedFile[];
  apply(parts: TeamParts, tx: Transaction, standing: Standing, arrived: Arrived): Promise<void>;
}

/** The rule of a handover, for this body: the one table of kinds. */
export function ruleOf(body: HandoverBody): BoundRule {
  switch (body.kind) {
    case 'checkpoint':
      return bind(checkpointRule, body);
    case 'delegate':
      return bind(delegateRule, body);
    case 'command_run':
      return bind(commandRule, body);
    case 'human_request':
      return bind(requestRule, body);
    case 'replan':
      return bind(replanRule, body);
  }
}

function bind<Kind extends HandoverBody['kind']>(
  rule: HandoverRule<Kind>,
  body: Extract<HandoverBody, { kind: Kind }>,
): BoundRule {
  return {
    check: (queries, standing) => rule.check(queries, standing, body),
    files: rule.files(body),
    apply: (parts, tx, standing, arrived) => rule.apply(parts, tx, standing, body, arrived),
  };
}
