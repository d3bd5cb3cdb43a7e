const transfers = new WeakMap<object, readonly ArrayBuffer[]>();

/** Marks what of a result changes hands instead of being copied, where the driver can do that; elsewhere it is copied. */
export function transfer<T extends object>(value: T, buffers: readonly ArrayBuffer[]): T {
  transfers.set(value, buffers);
  return value;
}

export function transferOf(value: unknown): readonly ArrayBuffer[] | undefined {
  return typeof value === 'object' && value !== null ? transfers.get(value) : undefined;
}
