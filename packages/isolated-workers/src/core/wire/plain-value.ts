/** A long string or bytes, and its path in the value. */
export interface Segment {
  readonly path: readonly (string | number)[];
  readonly content: string | Uint8Array;
}

/** Strings from this length are sent unescaped: escaping would cost more than the rest. */
const longString = 4_096;
const maxDepth = 48;
/** Shared parts of a value are visited once per reference. Above this number structured clone is faster. */
const maxContainers = 1_000_000;

/** Marks values that JSON would change: dates, maps, undefined, cycles, and others that structured clone supports. */
export const notPlain = Symbol('not plain');

/** Objects with more properties are not flat. */
const maxFlat = 10;

/** True for a simple value, and for an object with few properties that are all simple. JSON and structured clone preserve it. */
export function isFlat(value: unknown): boolean {
  if (isSimple(value)) return true;
  if (typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return false;
  const object = value as Record<string, unknown>;
  let properties = 0;
  for (const name in object) if ((properties += 1) > maxFlat || !isSimple(object[name])) return false;
  return true;
}

/** True when JSON preserves the value and it contains no long strings or bytes. */
export function isPlainText(value: unknown): boolean {
  return isSimple(value) || visit(value, { extracted: undefined, containers: 0 }, 0) !== notPlain;
}

/**
 * Returns the value for `JSON.stringify`, with long strings and bytes moved to `segments` and replaced by null. Returns
 * `notPlain` when JSON would change the value. Only containers of segments are copied.
 */
export function toPlain(value: unknown, segments: Segment[]): unknown {
  if (isSimple(value)) return value;
  const extracted: Extracted[] = [];
  const plain = visit(value, { extracted, containers: 0 }, 0);
  for (const { path, content } of extracted) segments.push({ path: path.toReversed(), content });
  return plain;
}

/** The path is built from the segment up to the root, so that values without segments pay nothing. */
interface Extracted {
  readonly path: (string | number)[];
  readonly content: string | Uint8Array;
}

interface Walk {
  /** Undefined when no segments are allowed. */
  readonly extracted: Extracted[] | undefined;
  containers: number;
}

/** True for the common values that JSON preserves. */
function isSimple(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return value.length < longString;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'boolean':
      return true;
    default:
      return value === null;
  }
}

/** Visits a value that is not simple. */
function visit(value: unknown, walk: Walk, depth: number): unknown {
  if (typeof value === 'string') {
    // A lone surrogate has no UTF-8 encoding.
    if (walk.extracted && Buffer.byteLength(value) !== value.length && /\p{Surrogate}/u.test(value)) return notPlain;
    return extract(value, walk);
  }
  if (typeof value !== 'object' || value === null) return notPlain;
  if (depth > maxDepth || (walk.containers += 1) > maxContainers) return notPlain;
  if (Array.isArray(value)) return asksToJson(value) ? notPlain : visitArray(value, walk, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null)
    return asksToJson(value) ? notPlain : visitObject(value as Record<string, unknown>, walk, depth);
  // Uint8Arrays, and Buffers, which structured clone turns into Uint8Arrays.
  return value instanceof Uint8Array && !(value.buffer instanceof SharedArrayBuffer) ? extract(value, walk) : notPlain;
}

/** True when JSON.stringify would call an own or inherited `toJSON`. */
function asksToJson(value: object): boolean {
  return (value as { readonly toJSON?: unknown }).toJSON !== undefined;
}

function visitArray(array: unknown[], walk: Walk, depth: number): unknown {
  let copy: unknown[] | undefined;
  for (let index = 0; index < array.length; index += 1) {
    const element = array[index];
    if (isSimple(element)) continue;
    const before = walk.extracted?.length ?? 0;
    const plain = visit(element, walk, depth + 1);
    if (plain === notPlain) return notPlain;
    if (plain === element) continue;
    (copy ??= [...array])[index] = plain;
    addStep(walk, before, index);
  }
  return copy ?? array;
}

function visitObject(object: Record<string, unknown>, walk: Walk, depth: number): unknown {
  let copy: Record<string, unknown> | undefined;
  for (const name in object) {
    if (name === '__proto__') return notPlain; // JSON.parse would not restore it
    const property = object[name];
    if (isSimple(property)) continue;
    const before = walk.extracted?.length ?? 0;
    const plain = visit(property, walk, depth + 1);
    if (plain === notPlain) return notPlain;
    if (plain === property) continue;
    (copy ??= { ...object })[name] = plain;
    addStep(walk, before, name);
  }
  return copy ?? object;
}

function extract(content: string | Uint8Array, { extracted }: Walk): null | typeof notPlain {
  if (!extracted) return notPlain;
  extracted.push({ path: [], content });
  return null;
}

function addStep({ extracted = [] }: Walk, from: number, step: string | number): void {
  for (let index = from; index < extracted.length; index += 1) extracted[index]?.path.push(step);
}

/** Restores a segment at its path. Returns the root, which is the segment itself for an empty path. */
export function putBack(root: unknown, path: readonly (string | number)[], content: unknown): unknown {
  const last = path.at(-1);
  if (last === undefined) return content;
  let holder = root as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) holder = own(holder, step) as Record<string | number, unknown>;
  own(holder, last);
  holder[last] = content;
  return root;
}

/** Reads an own property: a forged path must not reach a prototype. */
function own(holder: Record<string | number, unknown>, step: string | number): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step))
    throw new Error(`the path of a segment has no step ${step}`);
  return holder[step];
}
