/** An XML element. Names are without their namespace prefix. */
export interface AtomElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly AtomElement[];
  readonly text: string;
}

export class AtomError extends Error {
  override readonly name = 'AtomError';
}

interface OpenElement {
  readonly name: string;
  readonly attributes: Record<string, string>;
  readonly children: AtomElement[];
  text: string;
}

const maxDepth = 32;
const markup =
  /<!\[CDATA\[([\s\S]*?)\]\]>|<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<\/([^\s>]+)\s*>|<([^\s/>!]+)((?:\s+[^\s=>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/y;
const attribute = /([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const references: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/**
 * Parses the XML that the SDKs send: elements, attributes, text and CDATA. Document types are refused, so an entity cannot expand.
 * Throws AtomError.
 */
export function parseAtom(source: string): AtomElement {
  const root: OpenElement = { name: '', attributes: {}, children: [], text: '' };
  const open: OpenElement[] = [root];
  for (let at = 0; at < source.length; ) {
    const current = open.at(-1) ?? root;
    if (source.charAt(at) !== '<') {
      const next = source.indexOf('<', at);
      const end = next < 0 ? source.length : next;
      current.text += decodeText(source.slice(at, end));
      at = end;
      continue;
    }
    markup.lastIndex = at;
    const match = markup.exec(source);
    if (match === null) throw new AtomError(`The XML is not well formed at character ${at + 1}.`);
    at = markup.lastIndex;
    if (match[1] !== undefined) current.text += match[1];
    else if (match[2] !== undefined) close(open, match[2]);
    else if (match[3] !== undefined) {
      const element: OpenElement = {
        name: localName(match[3]),
        attributes: readAttributes(match[4] ?? ''),
        children: [],
        text: '',
      };
      current.children.push(element);
      if (match[5] !== '/') open.push(element);
      if (open.length > maxDepth) throw new AtomError(`The XML is nested more than ${maxDepth} levels deep.`);
    }
  }
  const [document] = root.children;
  if (open.length > 1 || document === undefined) throw new AtomError('The XML ends before its elements are closed.');
  return document;
}

export function child(element: AtomElement | undefined, name: string): AtomElement | undefined {
  return element?.children.find((candidate) => candidate.name === name);
}

export function escapeAtom(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function close(open: OpenElement[], name: string): void {
  const element = open.pop();
  if (open.length === 0 || element?.name !== localName(name))
    throw new AtomError(`The XML closes </${name}>, which is not open.`);
}

function readAttributes(source: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', double, single] of source.matchAll(attribute)) {
    attributes[localName(name)] = decodeText(double ?? single ?? '');
  }
  return attributes;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function decodeText(text: string): string {
  return text.replace(/&(#x[\da-f]+|#\d+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return references[name] ?? whole;
    const code = name[1]?.toLowerCase() === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10_ffff ? String.fromCodePoint(code) : whole;
  });
}
