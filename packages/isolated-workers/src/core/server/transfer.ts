/** Shared by the process: this library may be loaded twice, complete and as the worker bundle. */
const key = Symbol.for('isolated-workers.transfers');
const shared = globalThis as { [key]?: WeakMap<object, readonly ArrayBuffer[]> };
const transfers = (shared[key] ??= new WeakMap());

/** Marks buffers of a result for transfer. Drivers without the capability copy them. */
export function transfer<T extends object>(value: T, buffers: readonly ArrayBuffer[]): T {
  transfers.set(value, buffers);
  return value;
}

export function transferOf(value: unknown): readonly ArrayBuffer[] | undefined {
  return typeof value === 'object' && value !== null ? transfers.get(value) : undefined;
}
