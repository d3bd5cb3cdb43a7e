import { describe, expect, it } from 'vitest';
import { connectionHeaders, namedByConnection } from './connection-headers.js';

describe('headers of a connection', () => {
  it('are the fixed ones, and those that the connection names, however they are written', () => {
    expect(connectionHeaders.has('transfer-encoding')).toBe(true);
    expect(connectionHeaders.has('x-trace-id')).toBe(false);
    const named = namedByConnection('close ,X-Mine,  TE');
    expect(['close', 'x-mine', 'te', 'X-Mine'].map((name) => named.has(name))).toEqual([true, true, true, false]);
    expect(namedByConnection(undefined).has('x-mine')).toBe(false);
  });
});
