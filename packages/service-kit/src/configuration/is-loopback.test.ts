import { describe, expect, it } from 'vitest';
import { isLoopback } from './is-loopback.js';

describe('isLoopback', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.255.0.9', true],
    ['localhost', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['128.0.0.1', false],
    ['127.0.0.1.evil.example', false],
    ['127.0.0.999', false],
    ['', false],
  ])('of %j is %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });
});
