import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forwardedHead } from './forwarded-request.js';
import { endToEndHeaders, forwardedLine } from './hop-by-hop.js';

const changes = { drops: (name: string) => name.toLowerCase() === 'x-ours', added: 'x-ours: 1\r\n' };
const headOf = (rawHeaders: string[], isChunked = false): string[] =>
  forwardedHead({ method: 'POST', url: '/a?b', rawHeaders }, changes, isChunked).split('\r\n');

describe('forwarded headers', () => {
  it('keep spelling, order and repetitions', () => {
    const name = fc.stringMatching(/^X-[A-Za-z]{1,8}$/).filter((one) => one.toLowerCase() !== 'x-ours');
    const value = fc.stringMatching(/^[!-~]{0,20}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 20 }), (pairs) => {
        expect(endToEndHeaders(pairs.flat())).toEqual(pairs.flat());
        expect(headOf(pairs.flat())).toEqual([
          'POST /a?b HTTP/1.1',
          ...pairs.map(([key, text]) => `${key}: ${text}`),
          'x-ours: 1',
          'connection: keep-alive',
          '',
          '',
        ]);
      }),
    );
  });

  it('leave out what is about the connection, what it names, expectations and what the proxy sets itself', () => {
    const hop = ['Connection', 'close, X-Hop', 'x-hop', '1', 'Keep-Alive', 'timeout=5', 'Transfer-Encoding', 'chunked'];
    const raw = [...hop, 'EXPECT', '100-continue', 'X-Ours', 'forged', 'A', 'b'];
    expect(endToEndHeaders(raw)).toEqual(['X-Ours', 'forged', 'A', 'b']);
    expect(headOf(raw, true).slice(1, -2)).toEqual([
      'A: b',
      'x-ours: 1',
      'transfer-encoding: chunked',
      'connection: keep-alive',
    ]);
  });

  it.each([
    ['x-a', 'b\r\nx-evil: 1'],
    ['x-a', '\u0000'],
    ['x-a', '\u20ac'],
    ['x a', 'b'],
    ['', 'b'],
  ])('cannot break out of their line: %j: %j', (name, value) => {
    expect(() => forwardedLine(name, value)).toThrow(TypeError);
  });
});
