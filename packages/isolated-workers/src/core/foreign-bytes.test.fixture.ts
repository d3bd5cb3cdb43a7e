// For both sides of a test about bytes: values with views of a part of a buffer, and what is visible beside the views.
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
