import { describe, expect, it } from 'vitest';
import { uriNames } from './peer.js';

describe('uriNames', () => {
  it('finds the URIs among the names of a certificate', () => {
    expect(uriNames('URI:spiffe://a/worker/1, DNS:localhost, IP Address:127.0.0.1, URI:spiffe://b')).toEqual([
      'spiffe://a/worker/1',
      'spiffe://b',
    ]);
    expect(uriNames('')).toEqual([]);
    expect(uriNames('DNS:a')).toEqual([]);
  });

  it('does not split a name at its commas', () => {
    const forged = 'URI:"spiffe://evil, URI:spiffe://a/worker/1"';
    expect(uriNames(forged)).toEqual(['spiffe://evil, URI:spiffe://a/worker/1']);
    expect(uriNames('DNS:"x, URI:spiffe://a"')).toEqual([]);
  });

  it('stops at what it does not understand, and invents nothing', () => {
    expect(uriNames('URI:spiffe://a, "odd, URI:spiffe://b')).toEqual(['spiffe://a']);
  });
});
