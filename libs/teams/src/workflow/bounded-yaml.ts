import { CST, type Document, isAlias, isCollection, isNode, Lexer, LineCounter, parseDocument, visit } from 'yaml';
import { limits, type WorkflowIssue } from '#contracts';

export interface ReadDocument {
  readonly document: Document;
  readonly lines: LineCounter;
}

export type BoundedYaml =
  | { readonly ok: true; readonly read: ReadDocument }
  | { readonly ok: false; readonly issues: readonly WorkflowIssue[] };

/** More than any document of 4,096 nodes has; counted before anything is built. */
const mostTokens = 8 * limits.workflowNodes;
const mostIndentation = 256;

/**
 * Reads YAML 1.2 (and so JSON) without trust: what is too deep or too much is found by the lexer, because the parser would take
 * the process with it (a megabyte of `[` does). Aliases, tags, twin keys and second documents are refused.
 */
export function readBoundedYaml(text: string): BoundedYaml {
  const early = findExcess(text);
  if (early !== undefined) return { ok: false, issues: [early] };
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    strict: true,
    uniqueKeys: true,
    merge: false,
  });
  const faults = [...document.errors, ...document.warnings].map((fault) => ({
    ...positionAt(lines, fault.pos[0]),
    path: '',
    message: `Not well-formed YAML: ${firstLine(fault.message)}`,
  }));
  // One slip, such as a bracket that never closes, is found again at each level.
  const told = [...new Map(faults.map((fault) => [JSON.stringify(fault), fault])).values()];
  const issues = [...told, ...findForbiddenNodes(document, lines)];
  return issues.length > 0 ? { ok: false, issues } : { ok: true, read: { document, lines } };
}

export function positionAt(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

const blank = new Set(['space', 'newline', 'comment', 'byte-order-mark', 'doc-mode', 'flow-error-end']);

function findExcess(text: string): WorkflowIssue | undefined {
  let [line, tokens, flow, compact, atLineStart] = [1, 0, 0, 0, true];
  const issue = (message: string): WorkflowIssue => ({ line, column: null, path: '', message });
  for (const source of new Lexer().lex(text)) {
    const type = CST.tokenType(source);
    if (type === 'flow-map-start' || type === 'flow-seq-start') flow += 1;
    if (type === 'flow-map-end' || type === 'flow-seq-end') flow -= 1;
    if (type === 'seq-item-ind' || type === 'explicit-key-ind') compact += 1;
    if (flow + compact > limits.workflowNesting) return issue(`Nested more than ${limits.workflowNesting} deep.`);
    if (type === 'space' && atLineStart && source.length > mostIndentation) {
      return issue(`Indented by more than ${mostIndentation} columns.`);
    }
    if (type === null || !blank.has(type)) tokens += 1;
    if (tokens > mostTokens) return issue(`More than ${limits.workflowNodes} nodes.`);
    const breaks = source.split('\n').length - 1;
    line += breaks;
    atLineStart = type === 'newline' || (breaks > 0 && source.endsWith('\n'));
    if (breaks > 0) compact = 0;
  }
  return undefined;
}

function findForbiddenNodes(document: Document, lines: LineCounter): readonly WorkflowIssue[] {
  const issues: WorkflowIssue[] = [];
  let nodes = 0;
  visit(document, (_, node, ancestors) => {
    if (!isNode(node)) return undefined;
    nodes += 1;
    const at = node.range ? positionAt(lines, node.range[0]) : { line: null, column: null };
    if (isAlias(node)) issues.push({ ...at, path: '', message: 'Aliases are not taken: write the value out.' });
    if (nodes > limits.workflowNodes) {
      issues.push({ ...at, path: '', message: `More than ${limits.workflowNodes} nodes.` });
      return visit.BREAK;
    }
    if (ancestors.filter((ancestor) => isCollection(ancestor)).length >= limits.workflowNesting && isCollection(node)) {
      issues.push({ ...at, path: '', message: `Nested more than ${limits.workflowNesting} deep.` });
      return visit.SKIP;
    }
    return undefined;
  });
  return issues;
}

const firstLine = (message: string): string => message.split('\n', 1)[0] ?? message;
