import { isMap, isNode, isScalar, type Node } from 'yaml';
import type { z } from 'zod';
import { limits, utf8Length, WorkflowDocument, type WorkflowIssue } from '#contracts';
import { positionAt, type ReadDocument, readBoundedYaml } from './bounded-yaml.js';
import { textOf } from './issue-text.js';
import { checkTree, type TreeFault } from './tree-rules.js';

export type ParsedWorkflow =
  | { readonly ok: true; readonly document: WorkflowDocument }
  | { readonly ok: false; readonly issues: readonly WorkflowIssue[] };

/**
 * Reads a workflow document, YAML or JSON: normalised, or all that is wrong with it at once, in the order of its lines. `judge` finds
 * more in a document that holds.
 */
export function parseWorkflow(
  text: string,
  judge: (document: WorkflowDocument) => readonly TreeFault[] = () => [],
): ParsedWorkflow {
  if (utf8Length(text) > limits.workflowBytes)
    return refused([{ message: 'The document is over 1 MiB.', path: '', line: null, column: null }]);
  const yaml = readBoundedYaml(text);
  if (!yaml.ok) return refused(yaml.issues);
  const raw: unknown = yaml.read.document.toJS();
  const checked = WorkflowDocument.safeParse(raw, { reportInput: true });
  const faults = [...(checked.success ? [] : checked.error.issues.flatMap(faultsOf)), ...checkTree(raw)];
  if (checked.success) faults.push(...judge(checked.data));
  if (!checked.success || faults.length > 0) return refused(faults.map((fault) => locate(yaml.read, fault)));
  return { ok: true, document: checked.data };
}

function refused(issues: readonly WorkflowIssue[]): ParsedWorkflow {
  const sorted = [...issues].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  return { ok: false, issues: sorted };
}

/** Unknown keys are one fault each, at the key. */
function faultsOf(issue: z.core.$ZodIssue): readonly TreeFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...issue.path, key], message: 'This key does not exist here.' }));
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // A discriminated union that knows its branch reports that branch's issues; one that does not has none to report.
    const branch = issue.errors.find((issues) => issues.length > 0);
    if (branch !== undefined)
      return branch.flatMap((inner) => faultsOf({ ...inner, path: [...issue.path, ...inner.path] }));
  }
  return [{ path: issue.path, message: textOf(issue) }];
}

function locate({ document, lines }: ReadDocument, fault: TreeFault): WorkflowIssue {
  const at = offsetOf(document.contents, fault.path);
  const place = at === undefined ? { line: null, column: null } : positionAt(lines, at);
  return { ...place, path: pointerTo(fault.path), message: fault.message };
}

/** The key of the last step that exists: a missing field is found at the block that lacks it. */
function offsetOf(root: unknown, path: readonly PropertyKey[]): number | undefined {
  let node: unknown = root;
  let offset = startOf(root);
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else {
      const items = isNode(node) && 'items' in node && Array.isArray(node.items) ? node.items : [];
      node = items[Number(step)];
      if (node === undefined) return offset;
      offset = startOf(node) ?? offset;
    }
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? (node satisfies Node).range?.[0] : undefined;
}

function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
