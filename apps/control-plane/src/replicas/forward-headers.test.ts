import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headersFromHome, headersToHome } from './forward-headers.js';

const passedOn = (rawHeaders: string[], connection?: string): string[] =>
  // Only what is read of a request.
  headersToHome({ rawHeaders, headers: { ...(connection !== undefined && { connection }) } } as IncomingMessage, 'me');

describe('headers on their way', () => {
  it('stay as they came: spelling, order and repetitions', () => {
    const name = fc.stringMatching(/^X-[A-Za-z]{1,8}$/);
    const value = fc.stringMatching(/^[ -~]{0,20}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 20 }), (pairs) => {
        const raw = pairs.flat();
        expect(passedOn(raw)).toEqual([...raw, 'x-drover-forwarded', 'me']);
        expect(headersFromHome(raw.map((part) => Buffer.from(part, 'latin1')))).toEqual(raw);
      }),
    );
  });

  it('end here when they are about the connection, or named by it', () => {
    const raw = [
      'Connection',
      'close, X-Hop',
      'x-hop',
      '1',
      'Keep-Alive',
      'timeout=5',
      'Transfer-Encoding',
      'chunked',
      'A',
      'b',
    ];
    expect(passedOn(raw, 'close, X-Hop')).toEqual(['A', 'b', 'x-drover-forwarded', 'me']);
    expect(headersFromHome(raw)).toEqual(['A', 'b']);
  });

  it('do not say who passed them on but us', () => {
    expect(passedOn(['X-Drover-Forwarded', 'somebody'])).toEqual(['x-drover-forwarded', 'me']);
  });
});
