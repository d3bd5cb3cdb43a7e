/** One for the whole process: this library may be loaded twice, whole and as what workers need of it. */
const key = Symbol.for('isolated-workers.transfers');
const shared = globalThis as { [key]?: WeakMap<object, readonly ArrayBuffer[]> };
const transfers = (shared[key] ??= new WeakMap());

/** Marks what of a result changes hands instead of being copied, where the driver can do that; elsewhere it is copied. */
export function transfer<T extends object>(value: T, buffers: readonly ArrayBuffer[]): T {
  transfers.set(value, buffers);
  return value;
}

export function transferOf(value: unknown): readonly ArrayBuffer[] | undefined {
  return typeof value === 'object' && value !== null ? transfers.get(value) : undefined;
}
