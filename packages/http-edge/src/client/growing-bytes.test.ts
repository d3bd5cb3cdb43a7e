import { describe, expect, it } from 'vitest';
import { GrowingBytes } from './growing-bytes.js';

describe('GrowingBytes', () => {
  it('keep copies: what they were read into may be used again', () => {
    const bytes = new GrowingBytes();
    const buffer = Buffer.from('abcd');
    bytes.append(buffer, 1, 3);
    buffer.fill('x');
    expect(bytes.take().toString()).toBe('bc');
    expect([bytes.length, bytes.take().length]).toEqual([0, 0]);
  });

  it('have no more room than needed for one piece, and about twice as much for many', () => {
    const bytes = new GrowingBytes();
    const piece = Buffer.alloc(100_000, 'x');
    bytes.append(piece, 0, piece.length);
    expect(bytes.take().buffer.byteLength).toBe(100_000);
    for (let count = 0; count < 100_000; count += 1) bytes.append(piece, count, count + 1);
    const many = bytes.take();
    expect(many.equals(piece)).toBe(true);
    expect(many.buffer.byteLength).toBeLessThan(300_000);
  });

  it('make no room for what was announced and has not come, and no more than that', () => {
    const bytes = new GrowingBytes();
    const size = 10 * Buffer.poolSize; // smaller ones share a buffer of Node's pool
    const piece = Buffer.alloc(size, 'x');
    const most = size - 1_000;
    bytes.append(piece, 0, most, 1_000 * size);
    bytes.append(piece, 0, size - most, 1_000 * size);
    expect(bytes.take().buffer.byteLength).toBeLessThan(3 * size);
    bytes.append(piece, 0, most, size);
    bytes.append(piece, 0, size - most, size);
    expect(bytes.take().buffer.byteLength).toBe(size);
  });
});
