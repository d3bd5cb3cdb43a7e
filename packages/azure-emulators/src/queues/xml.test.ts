import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { childOf, escapeXml, parseXml, toXml, unescapeXml } from './xml.js';

describe('xml', () => {
  it('reads back any text it wrote', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(unescapeXml(escapeXml(text))).toBe(text);
        const root = parseXml(`<?xml version="1.0"?>\n<a x="1"><!-- c --><b>${escapeXml(text)}</b></a>\n`);
        expect(childOf(root, 'b')?.text).toBe(text);
        expect(parseXml(toXml(root))).toEqual(root);
      }),
    );
  });

  it('resolves entities, CDATA and empty elements', () => {
    expect(parseXml('<a>&lt;&#65;&#x1F642;&apos;<![CDATA[<&>]]><b/><c></c></a>')).toEqual({
      name: 'a',
      text: "<A🙂'<&>",
      children: [
        { name: 'b', text: '', children: [] },
        { name: 'c', text: '', children: [] },
      ],
    });
  });

  it.each([
    '',
    'text',
    '<a>',
    '<a></b>',
    '</a>',
    '<a/><b/>',
    '<a>&nope;</a>',
    '<a>&</a>',
    '<a>&#0;</a>',
    '<a b></a>',
    '<!DOCTYPE a><a/>',
  ])('refuses %j', (document) => {
    expect(() => parseXml(document)).toThrow(expect.objectContaining({ code: 'InvalidXmlDocument', status: 400 }));
  });
});
