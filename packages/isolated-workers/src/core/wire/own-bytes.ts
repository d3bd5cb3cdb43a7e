import type * as utilModule from 'node:util';

/**
 * Returns the value with every view of a part of a buffer replaced by a copy of that part. Structured clone would send the
 * whole buffer behind it: for a small Buffer that is the pool of Node, with bytes of other values. Views of a whole buffer, of
 * shared memory and of buffers in `transfer` stay as they are. Returns the value itself when there is nothing to replace.
 */
export function withOwnBytes(value: unknown, transfer: readonly unknown[] = []): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (ArrayBuffer.isView(value)) return isPart(value, transfer) ? copyOfView(value) : value;
  return mayHaveParts(value, transfer) && hasParts(value, transfer) ? new Rebuild(transfer).of(value) : value;
}

/** Returns a view of the same kind, with a buffer of exactly its size. */
export function copyOfView(view: ArrayBufferView): ArrayBufferView {
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  const name = typedArrayName?.call(view) as 'Uint8Array' | undefined; // or any other; that of a Buffer is Uint8Array
  return name === undefined ? new DataView(bytes) : new globalThis[name](bytes);
}

/** The accessor of all typed arrays, which a property of a view cannot hide. */
// oxlint-disable-next-line typescript/unbound-method -- called with a view
const typedArrayName = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
)?.get;

/** True when the buffer of a view holds more than the view. */
function isPart({ buffer, byteLength }: ArrayBufferView, transfer: readonly unknown[]): boolean {
  return byteLength !== buffer.byteLength && !(buffer instanceof SharedArrayBuffer) && !transfer.includes(buffer);
}

const maxDepth = 48;
const maxContainers = 1_000_000;

/**
 * Searches what structured clone would visit. Returns true as well for values that are too deep or too large, which include
 * all cycles: only the slower `hasParts` can tell. For 5,000 rows with a date this search takes a tenth of the time of the
 * clone, the other one half of it.
 */
function mayHaveParts(root: object, transfer: readonly unknown[]): boolean {
  let depth = 0;
  let containers = 0;
  const visit = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null) return false;
    if (ArrayBuffer.isView(value)) return isPart(value, transfer);
    containers += 1;
    if (depth === maxDepth || containers > maxContainers) return true;
    depth += 1;
    const found = someChild(value, visit);
    depth -= 1;
    return found;
  };
  return visit(root);
}

/** Searches as well, with a record of what it has visited. */
function hasParts(root: object, transfer: readonly unknown[]): boolean {
  const seen = new Set<object>([root]);
  const visit = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null) return false;
    if (ArrayBuffer.isView(value)) return isPart(value, transfer);
    seen.add(value);
    return false;
  };
  // The set grows while it is iterated. No recursion: a long list must not overflow the stack.
  for (const container of seen) if (someChild(container, visit)) return true;
  return false;
}

function someChild(container: object, test: (value: unknown) => boolean): boolean {
  if (Array.isArray(container)) return someElement(container, test);
  const prototype: unknown = Object.getPrototypeOf(container);
  if (prototype !== Object.prototype && prototype !== null) {
    const { isMap, isSet, isNativeError, isDate } = types();
    if (isDate(container)) return false;
    if (isMap(container)) return someElement([...mapEntries(container)], ([key, value]) => test(key) || test(value));
    if (isSet(container)) return someElement([...setValues(container)], test);
    if (isNativeError(container)) return test(container.cause);
  }
  for (const name of Object.keys(container)) {
    const property = (container as Record<string, unknown>)[name];
    if (typeof property === 'object' && test(property)) return true;
  }
  return false;
}

/** Named properties of an array without holes are not searched: listing them costs more than the clone of its numbers. */
function someElement<T>(array: readonly T[], test: (value: T) => boolean): boolean {
  for (let index = 0; index < array.length; index += 1) {
    const element = array[index];
    if (element === undefined && !(index in array)) {
      // A hole: the rest may be four billion of them.
      return Object.keys(array).some((name) => test(array[name as unknown as number] as T));
    }
    if (typeof element === 'object' && test(element)) return true;
  }
  return false;
}

/** Rebuilds a value as structured clone would, so that the original is not changed. Shared parts and cycles are kept. */
class Rebuild {
  readonly #transfer: readonly unknown[];
  /** Each visited object with its copy, in the order in which they are filled. */
  readonly #copies = new Map<object, object>();

  constructor(transfer: readonly unknown[]) {
    this.#transfer = transfer;
  }

  of(root: object): unknown {
    const copy = this.#copyOf(root);
    // The map grows while it is iterated.
    for (const [source, target] of this.#copies) this.#fill(source, target);
    return copy;
  }

  #copyOf(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#copies.get(value);
    if (known) return known;
    const copy = this.#emptyCopyOf(value);
    if (copy !== value) this.#copies.set(value, copy);
    return copy;
  }

  #emptyCopyOf(value: object): object {
    if (ArrayBuffer.isView(value)) return isPart(value, this.#transfer) ? copyOfView(value) : value;
    if (Array.isArray(value)) return [];
    if (types().isMap(value)) return new Map();
    if (types().isSet(value)) return new Set();
    if (types().isNativeError(value)) return errorLike(value);
    // Dates and others that structured clone knows, and objects of Node with a clone of their own.
    const { isDate, isRegExp, isBoxedPrimitive } = types();
    const isAtom = isDate(value) || isRegExp(value) || isBoxedPrimitive(value);
    return isAtom || Object.keys(value).length === 0 ? value : {};
  }

  #fill(source: object, target: object): void {
    if (ArrayBuffer.isView(source)) return;
    if (target instanceof Map) {
      for (const [key, value] of mapEntries(source as Map<unknown, unknown>))
        target.set(this.#copyOf(key), this.#copyOf(value));
    } else if (target instanceof Set) {
      for (const value of setValues(source as Set<unknown>)) target.add(this.#copyOf(value));
    } else if (target instanceof Error) {
      if (Object.hasOwn(source, 'cause')) target.cause = this.#copyOf((source as Error).cause);
    } else this.#fillProperties(source as Record<string, unknown>, target);
  }

  #fillProperties(source: Readonly<Record<string, unknown>>, target: object): void {
    if (Array.isArray(target)) target.length = (source as unknown as unknown[]).length; // holes at its end are kept
    for (const name of Object.keys(source)) {
      const value = this.#copyOf(source[name]);
      if (name !== '__proto__') (target as Record<string, unknown>)[name] = value;
      else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
    }
  }
}

function errorLike(error: Error): Error {
  const copy = new Error(error.message);
  copy.name = error.name;
  if (error.stack !== undefined) copy.stack = error.stack;
  return copy;
}

/** The entries themselves, whatever iterator a subclass has: structured clone reads them in the same way. */
function mapEntries(map: Map<unknown, unknown>): IterableIterator<[unknown, unknown]> {
  return Map.prototype.entries.call(map) as IterableIterator<[unknown, unknown]>;
}

function setValues(set: Set<unknown>): IterableIterator<unknown> {
  return Set.prototype.values.call(set);
}

let loaded: typeof utilModule.types | undefined;

/** Loaded on demand, as `v8` of the frame codec. */
function types(): typeof utilModule.types {
  return (loaded ??= process.getBuiltinModule('node:util').types);
}
