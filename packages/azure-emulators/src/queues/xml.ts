import { invalidXml } from './storage-error.js';

/** The XML of the Storage REST API: elements and text, no attributes of interest. */
export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  /** Text of this element alone, entities resolved. */
  readonly text: string;
}

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>';

const special = /[&<>]/;
const specials = /[&<>]/g;
const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

export const escapeXml = (text: string): string =>
  special.test(text) ? text.replace(specials, (character) => escapes[character] ?? '') : text;

const entity = /&(#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-z]{2,4});|&/g;
const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Resolves the entities of a text. Throws InvalidXmlDocument if one is unknown. */
export function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(entity, (whole, name: string | undefined) => {
    const character = name?.startsWith('#') ? fromCodePoint(name) : named[name ?? ''];
    if (character === undefined) throw invalidXml(`${whole} is not an entity`);
    return character;
  });
}

function fromCodePoint(name: string): string | undefined {
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

interface OpenElement {
  readonly name: string;
  readonly children: XmlElement[];
  text: string;
}

/** Matches one piece of markup: comment, CDATA, declaration, end tag, or start tag with attributes. */
const markup =
  /<(?:!--([^]*?)--|!\[CDATA\[([^]*?)\]\]|\?[^]*?\?|\/([\w:.-]+)\s*|([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?))>/y;

/** Parses a document and returns its root. Throws InvalidXmlDocument. Documents with a DTD are refused: the service takes none. */
export function parseXml(document: string): XmlElement {
  const top: OpenElement = { name: '', children: [], text: '' };
  const open: OpenElement[] = [top];
  let at = document.startsWith('\ufeff') ? 1 : 0;
  while (at < document.length) {
    const current = open.at(-1) ?? top;
    const next = document.indexOf('<', at);
    current.text += unescapeXml(document.slice(at, next < 0 ? document.length : next));
    if (next < 0) break;
    markup.lastIndex = next;
    const match = markup.exec(document);
    if (!match) throw invalidXml(`unexpected markup at character ${next}`);
    at = markup.lastIndex;
    const [, , cdata, endName, startName, , selfClosing] = match;
    if (cdata !== undefined) current.text += cdata;
    else if (endName !== undefined) {
      if (endName !== current.name || open.length === 1) throw invalidXml(`</${endName}> closes no element`);
      open.pop();
    } else if (startName !== undefined) {
      const element: OpenElement = { name: startName, children: [], text: '' };
      current.children.push(element);
      if (selfClosing === '') open.push(element);
    }
  }
  const [root] = top.children;
  if (open.length > 1 || top.children.length !== 1 || top.text.trim() !== '' || !root) {
    throw invalidXml('one root element is expected, and all elements closed');
  }
  return root;
}

export const childOf = (element: XmlElement, name: string): XmlElement | undefined =>
  element.children.find((child) => child.name === name);

export const toXml = ({ name, children, text }: XmlElement): string =>
  `<${name}>${children.length > 0 ? children.map(toXml).join('') : escapeXml(text)}</${name}>`;
