import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withOwnBytes } from './own-bytes.js';

const pool = Uint8Array.from({ length: 64 }, (_, index) => index).buffer;
/** A view of eight bytes in the middle of `pool`, of every kind. */
const parts: readonly ArrayBufferView[] = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray].map((View) => new View(pool, 8, 8)),
  ...[Int16Array, Uint16Array].map((View) => new View(pool, 8, 4)),
  ...[Int32Array, Uint32Array, Float32Array].map((View) => new View(pool, 8, 2)),
  ...[Float64Array, BigInt64Array, BigUint64Array].map((View) => new View(pool, 8, 1)),
  new DataView(pool, 8, 8),
  Buffer.from(pool, 8, 8),
];

/** Returns the buffers that structured clone would send. */
function buffersOf(value: unknown): ArrayBufferLike[] {
  const found = new Set<ArrayBufferLike>();
  const seen = new Set<unknown>();
  const look = (part: unknown): void => {
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    if (ArrayBuffer.isView(part)) found.add(part.buffer);
    else if (part instanceof Map) for (const entry of part) look([...entry]);
    else if (part instanceof Set) for (const entry of part) look(entry);
    else if (part instanceof Error) look(part.cause);
    else for (const name of Object.keys(part)) look((part as Record<string, unknown>)[name]);
  };
  look(value);
  return [...found];
}

describe('a view of a part of a buffer', () => {
  it.each(parts)('is replaced by a copy of its own size: %o', (view) => {
    for (const value of [
      view,
      [1, view],
      { deep: { list: [view, new Date(0)] } },
      new Map([[view, new Set([view])]]),
    ]) {
      const copy = withOwnBytes(value);
      deepStrictEqual(structuredClone(copy), structuredClone(value));
      expect(buffersOf(copy).map(({ byteLength }) => byteLength)).toEqual([8]);
    }
    expect(view.buffer.byteLength).toBe(64);
  });

  it('is found in cycles, long lists, sparse arrays and causes, which keep their shape', () => {
    const [part] = parts;
    let list: { readonly next: unknown } = { next: part };
    for (let length = 0; length < 20_000; length += 1) list = { next: list };
    let end: unknown = withOwnBytes(list);
    while (!ArrayBuffer.isView(end)) end = (end as typeof list).next;
    expect(end.buffer.byteLength).toBe(8);

    const ring: Record<string, unknown> = { part, same: part, error: new RangeError('odd', { cause: { part } }) };
    ring['self'] = ring;
    const copy = withOwnBytes(ring) as typeof ring;
    expect(copy['self']).toBe(copy);
    expect(copy['same']).toBe(copy['part']);
    expect(copy['error']).toMatchObject({ name: 'RangeError', message: 'odd', stack: (ring['error'] as Error).stack });
    expect(buffersOf(copy).map(({ byteLength }) => byteLength)).toEqual([8]);

    const sparse: unknown[] = [];
    sparse[4_000_000_000] = part;
    const sparseCopy = withOwnBytes(sparse) as unknown[];
    expect(sparseCopy).toHaveLength(4_000_000_001);
    expect(Object.keys(sparseCopy)).toEqual(['4000000000']);
    expect(buffersOf(sparseCopy)[0]?.byteLength).toBe(8);
  });

  it('stays as it is when its buffer is shared or transferred', () => {
    const shared = new Int32Array(new SharedArrayBuffer(64), 8, 2);
    const moved = new Uint8Array(new ArrayBuffer(64), 8, 8);
    const value = { shared, moved };
    expect(withOwnBytes(value, [moved.buffer])).toBe(value);
    expect(withOwnBytes(moved, [moved.buffer])).toBe(moved);
  });
});

it('a value without such views is returned itself, whole buffers, shared parts and cycles included', () => {
  const whole = new Float64Array(4);
  const value = [{ whole, buffer: whole.buffer, at: new Date(0) }, new Map([[1, new Set([whole])]]), 'text', null];
  expect(withOwnBytes(value)).toBe(value);
  const ring = { value, self: undefined as unknown };
  ring.self = ring;
  expect(withOwnBytes(ring)).toBe(ring);
});

it('any other value is rebuilt as structured clone would do it', () => {
  const anything = fc.anything({
    maxDepth: 4,
    withBigInt: true,
    withBoxedValues: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  const [part] = parts;
  const holds = fc.property(anything, (value) => {
    const both = Object.assign([value, part], { named: value, ['__proto__']: 1 });
    deepStrictEqual(structuredClone(withOwnBytes(both)), structuredClone(both));
  });
  expect(() => fc.assert(holds)).not.toThrow();
});
