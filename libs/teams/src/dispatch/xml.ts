/** What may stand in an element: text, numbers, switches, blocks and lists of them. */
export type XmlValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly XmlValue[]
  | { readonly [key: string]: XmlValue };

/**
 * Plain elements with escaped text: no attributes, no CDATA, no namespaces. The same value gives the same bytes. Absent and null
 * values leave no element, an empty list an empty one.
 */
export function element(name: string, value: XmlValue): string {
  if (value === null || value === undefined) return '';
  if (isList(value)) return wrap(name, value.map((item) => element('item', item)).join(''));
  if (typeof value === 'object') {
    return wrap(
      name,
      Object.entries(value)
        .map(([key, inner]) => element(key, inner))
        .join(''),
    );
  }
  const text = escapeText(String(value));
  // On lines of its own, so that what is sensitive to line starts (a fenced block) reads as it was written.
  return text.includes('\n')
    ? `<${name}>\n${text}${text.endsWith('\n') ? '' : '\n'}</${name}>\n`
    : `<${name}>${text}</${name}>\n`;
}

/** One document: LF, and one at the end. */
export function document(root: string, parts: readonly string[]): string {
  return `<${root}>\n${parts.join('')}</${root}>\n`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const isList = (value: XmlValue): value is readonly XmlValue[] => Array.isArray(value);

const wrap = (name: string, inner: string): string =>
  inner === '' ? `<${name}></${name}>\n` : `<${name}>\n${inner}</${name}>\n`;
