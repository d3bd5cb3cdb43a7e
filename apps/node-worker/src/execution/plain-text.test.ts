import { property, assert, oneof, string, json, constantFrom, tuple, stringMatching } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decoded } from './invocation.test.fixture.js';
import { markPlainText, toV4Value } from './plain-text.js';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const texts = oneof(
  string(),
  json(),
  stringMatching(/^[-0-9.eE+ ]{0,12}$/),
  tuple(
    constantFrom('', ' ', '\t', '\n'),
    constantFrom('true', 'false', 'null', 'nulls', '1', '-', '"', '{'),
    constantFrom('', ' ', 'x'),
  ).map((parts) => parts.join('')),
);

describe('text that is surely no JSON', () => {
  it('is found where trigger metadata is full of it', () => {
    const usual = [
      '2f6bb1c4-8a2f-4b3c-9f0e-6d1c7f3b2a10',
      '7',
      'true',
      'the text',
      'AgAAAAMAAAA=',
      '2024-01-01T00:00:00Z',
      '007',
      'n',
      '',
    ];
    const request = decoded({ inputData: usual.map((text) => ({ name: 'i', data: { string: text } })) });
    markPlainText(request);
    const isMarked = request.inputData.map(({ data }) => data?.json !== undefined);
    expect(isMarked).toEqual([true, false, false, true, true, true, true, true, true]);
  });

  it('comes to a handler as what it is, whatever it is', () => {
    assert(
      property(texts, (text) => {
        expect(toV4Value({ string: text })).toEqual(isJson(text) ? JSON.parse(text) : text);
      }),
    );
  });

  it('is passed to the library as a JSON string, which yields the same text', () => {
    assert(
      property(texts, (text) => {
        const request = decoded({
          inputData: [{ name: 'i', data: { string: text } }],
          triggerMetadata: { m: { string: text } },
        });
        markPlainText(request);
        for (const data of [request.inputData[0]?.data, request.triggerMetadata['m']]) {
          const seen: unknown = data?.json === undefined ? data?.string : JSON.parse(data.json);
          expect(seen).toBe(text);
        }
      }),
    );
  });
});
