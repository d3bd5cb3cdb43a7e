import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attributeOf, childOf, escapeXml, parseXml, toXml, unescapeXml, XmlError } from './xml.js';

describe('xml', () => {
  it('reads back any text it wrote', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(unescapeXml(escapeXml(text))).toBe(text);
        const root = parseXml(`<?xml version="1.0"?>\n<a><!-- c --><b>${escapeXml(text)}</b></a>\n`);
        expect(childOf(root, 'b')?.text).toBe(text);
        expect(parseXml(toXml(root))).toEqual(root);
      }),
    );
  });

  it('resolves entities, CDATA and empty elements', () => {
    expect(parseXml('<a>&lt;&#65;&#x1F642;&apos;<![CDATA[<&>]]><b/><c></c></a>')).toEqual({
      name: 'a',
      attributes: '',
      text: "<A🙂'<&>",
      children: [
        { name: 'b', attributes: '', text: '', children: [] },
        { name: 'c', attributes: '', text: '', children: [] },
      ],
    });
  });

  it('reads attributes, and finds names whatever their prefix', () => {
    const root = parseXml(`<d:a x='1' p4:type="&lt;Sql&gt;"><d:b/></d:a>`);
    expect([attributeOf(root, 'x'), attributeOf(root, 'type'), attributeOf(root, 'y')]).toEqual([
      '1',
      '<Sql>',
      undefined,
    ]);
    expect(childOf(root, 'b')?.name).toBe('d:b');
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
    expect(() => parseXml(document)).toThrow(XmlError);
  });
});
