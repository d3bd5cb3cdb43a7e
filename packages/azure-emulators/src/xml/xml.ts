/** The XML of the REST APIs: elements, attributes and text. */
export interface XmlElement {
  /** With its namespace prefix, if it has one. */
  readonly name: string;
  /** As they stand in the document; read one with `attributeOf`. */
  readonly attributes: string;
  readonly children: readonly XmlElement[];
  /** Text of this element alone, entities resolved. */
  readonly text: string;
}

export class XmlError extends Error {
  override readonly name = 'XmlError';
}

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>';

const special = /[&<>]/;
const specials = /[&<>]/g;
const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

export const escapeXml = (text: string): string =>
  special.test(text) ? text.replace(specials, (character) => escapes[character] ?? '') : text;

const entity = /&(#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-z]{2,4});|&/g;
const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Resolves the entities of a text. Throws XmlError if one is unknown. */
export function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(entity, (whole, name: string | undefined) => {
    const character = name?.startsWith('#') ? fromCodePoint(name) : named[name ?? ''];
    if (character === undefined) throw new XmlError(`${whole} is not an entity`);
    return character;
  });
}

function fromCodePoint(name: string): string | undefined {
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

interface OpenElement {
  readonly name: string;
  readonly attributes: string;
  readonly children: XmlElement[];
  text: string;
}

/** Matches one piece of markup: comment, CDATA, declaration, end tag, or start tag with attributes. */
const markup =
  /<(?:!--([^]*?)--|!\[CDATA\[([^]*?)\]\]|\?[^]*?\?|\/([\w:.-]+)\s*|([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?))>/y;

/** Parses a document and returns its root. Throws XmlError. Documents with a DTD are refused: the service takes none. */
export function parseXml(document: string): XmlElement {
  const top: OpenElement = { name: '', attributes: '', children: [], text: '' };
  const open: OpenElement[] = [top];
  let at = document.startsWith('\ufeff') ? 1 : 0;
  while (at < document.length) {
    const current = open.at(-1) ?? top;
    const next = document.indexOf('<', at);
    current.text += unescapeXml(document.slice(at, next < 0 ? document.length : next));
    if (next < 0) break;
    markup.lastIndex = next;
    const match = markup.exec(document);
    if (!match) throw new XmlError(`unexpected markup at character ${next}`);
    at = markup.lastIndex;
    const [, , cdata, endName, startName, attributes = '', selfClosing] = match;
    if (cdata !== undefined) current.text += cdata;
    else if (endName !== undefined) {
      if (endName !== current.name || open.length === 1) throw new XmlError(`</${endName}> closes no element`);
      open.pop();
    } else if (startName !== undefined) {
      const element: OpenElement = { name: startName, attributes, children: [], text: '' };
      current.children.push(element);
      if (selfClosing === '') open.push(element);
    }
  }
  const [root] = top.children;
  if (open.length > 1 || top.children.length !== 1 || top.text.trim() !== '' || !root) {
    throw new XmlError('one root element is expected, and all elements closed');
  }
  return root;
}

/** The first child of that name, whatever its prefix. */
export const childOf = (element: XmlElement | undefined, name: string): XmlElement | undefined =>
  element?.children.find((child) => child.name === name || child.name.endsWith(`:${name}`));

const attribute = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** The attribute of that name, whatever its prefix. */
export function attributeOf(element: XmlElement | undefined, name: string): string | undefined {
  for (const [, key = '', double, single] of element?.attributes.matchAll(attribute) ?? []) {
    if (key === name || key.endsWith(`:${name}`)) return unescapeXml(double ?? single ?? '');
  }
  return undefined;
}

export const toXml = ({ name, children, text }: XmlElement): string =>
  `<${name}>${children.length > 0 ? children.map(toXml).join('') : escapeXml(text)}</${name}>`;
