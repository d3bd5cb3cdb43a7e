// Values for both sides of a test, host and worker.
const pool = Uint8Array.from({ length: 64 }, (_, index) => index);

/** Views of a part of a buffer, alone and nested: in values that are sent as JSON, and in others that are cloned. */
export function partialViews(): readonly unknown[] {
  const float = new Float32Array(pool.buffer, 8, 2);
  const buffer = Buffer.from('small, so it is in the pool');
  return [
    buffer,
    { buffer, list: [pool.subarray(3, 9)] },
    float,
    { float, buffer, when: new Date(0) },
    new Map([['deep', [new DataView(pool.buffer, 8, 4), buffer, new Uint16Array(pool.buffer, 2, 3)]]]),
    [undefined, Buffer.alloc(100_000).subarray(1, 99_999), { big: new Float64Array(20_000).subarray(1) }],
    new Error('with bytes', { cause: { float } }),
  ];
}

/** Returns the number of bytes that are reachable through the buffers of views, but not part of the views. */
export function foreignBytes(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (ArrayBuffer.isView(value)) return value.buffer.byteLength - value.byteLength;
  const children: unknown[] =
    value instanceof Map
      ? [...(value as Map<unknown, unknown>).values()]
      : [value instanceof Error && value.cause, ...Object.values(value)];
  return children.reduce<number>((sum, child) => sum + foreignBytes(child), 0);
}

const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

function withGetter(name: string, thrown: unknown): object {
  return Object.defineProperty({}, name, {
    enumerable: true,
    get() {
      throw thrown;
    },
  });
}

/** Values that throw when they are looked at, by name. */
export const hostileValues: Readonly<Record<string, unknown>> = {
  revoked,
  'revoked inside': { deep: [new Date(0), revoked] },
  'almost a promise': withGetter('then', new Error('sprung')),
  'throws a revoked proxy': withGetter('property', revoked),
  'throws what has no text': withGetter('property', { toString: 5, toJSON: () => revoked }),
  'without a prototype': new Proxy(
    {},
    {
      getPrototypeOf() {
        throw new Error('sprung');
      },
    },
  ),
};
