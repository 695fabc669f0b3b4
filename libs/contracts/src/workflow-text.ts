import { stringify } from 'yaml';
import { limits } from './limits.js';
import { utf8Length } from './text.js';
import type { WorkflowDocument } from './workflow-document.js';

/**
 * The document as people write one: YAML with prose as blocks. Imported again it is the same document. Where indenting makes it larger
 * than an import may be, it is JSON on one line, which is YAML too.
 */
export function workflowText(document: WorkflowDocument): string {
  const text = stringify(document, { lineWidth: 0, blockQuote: 'literal', aliasDuplicateObjects: false });
  return utf8Length(text) <= limits.workflowBytes ? text : JSON.stringify(document);
}
