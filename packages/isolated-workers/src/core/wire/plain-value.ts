/** A long string or some bytes, and where in the value it was. */
export interface Segment {
  readonly path: readonly (string | number)[];
  readonly content: string | Uint8Array;
}

/** Strings from this length on travel as they are: escaping them costs more than everything else. */
export const longString = 4_096;
const maxDepth = 48;
/** Values that hang together in many ways are walked once for each; from here on, structured clone is the better way. */
const maxContainers = 1_000_000;

/** Not JSON: dates, maps, undefined, cycles, and all else that structured clone knows and JSON does not. */
export const notPlain = Symbol('not plain');

/** JSON gives this value back as it is, and needs no long string or bytes taken out of it. */
export function isPlainText(value: unknown): boolean {
  return isSimple(value) || visit(value, { taken: undefined, containers: 0 }, 0) !== notPlain;
}

/**
 * The value for `JSON.stringify`, with long strings and bytes taken out into `segments` (null stands in their place), or
 * `notPlain` when JSON would change it. Containers are copied only on the way to a segment.
 */
export function toPlain(value: unknown, segments: Segment[]): unknown {
  if (isSimple(value)) return value;
  const taken: Taken[] = [];
  const plain = visit(value, { taken, containers: 0 }, 0);
  for (const { path, content } of taken) segments.push({ path: path.toReversed(), content });
  return plain;
}

/** Its path is written from the segment up to the root, on the way back: most values have none, and pay nothing. */
interface Taken {
  readonly path: (string | number)[];
  readonly content: string | Uint8Array;
}

interface Walk {
  /** Undefined when nothing may be taken out. */
  readonly taken: Taken[] | undefined;
  containers: number;
}

/** What most of every message consists of: JSON gives it back as it is. */
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

/** For all that is not simple. */
function visit(value: unknown, walk: Walk, depth: number): unknown {
  if (typeof value === 'string') {
    // Half a surrogate pair has no UTF-8.
    if (walk.taken && Buffer.byteLength(value) !== value.length && /\p{Surrogate}/u.test(value)) return notPlain;
    return take(value, walk);
  }
  if (typeof value !== 'object' || value === null) return notPlain;
  if (depth > maxDepth || (walk.containers += 1) > maxContainers) return notPlain;
  if (Array.isArray(value)) return asksToJson(value) ? notPlain : visitArray(value, walk, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null)
    return asksToJson(value) ? notPlain : visitObject(value as Record<string, unknown>, walk, depth);
  // A plain Uint8Array; Buffers become one, as structured clone makes them.
  return value instanceof Uint8Array && !(value.buffer instanceof SharedArrayBuffer) ? take(value, walk) : notPlain;
}

/** JSON would write what its own or inherited `toJSON` says instead of it. */
function asksToJson(value: object): boolean {
  return (value as { readonly toJSON?: unknown }).toJSON !== undefined;
}

function visitArray(array: unknown[], walk: Walk, depth: number): unknown {
  let copy: unknown[] | undefined;
  for (let index = 0; index < array.length; index += 1) {
    const element = array[index];
    if (isSimple(element)) continue;
    const before = walk.taken?.length ?? 0;
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
    if (name === '__proto__') return notPlain; // JSON would not give it back as it is
    const property = object[name];
    if (isSimple(property)) continue;
    const before = walk.taken?.length ?? 0;
    const plain = visit(property, walk, depth + 1);
    if (plain === notPlain) return notPlain;
    if (plain === property) continue;
    (copy ??= { ...object })[name] = plain;
    addStep(walk, before, name);
  }
  return copy ?? object;
}

function take(content: string | Uint8Array, { taken }: Walk): null | typeof notPlain {
  if (!taken) return notPlain;
  taken.push({ path: [], content });
  return null;
}

function addStep({ taken = [] }: Walk, from: number, step: string | number): void {
  for (let index = from; index < taken.length; index += 1) taken[index]?.path.push(step);
}

/** Puts a segment back to where it was; returns the root, which is the segment itself when the path is empty. */
export function putBack(root: unknown, path: readonly (string | number)[], content: unknown): unknown {
  const last = path.at(-1);
  if (last === undefined) return content;
  let holder = root as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) holder = own(holder, step) as Record<string | number, unknown>;
  own(holder, last);
  holder[last] = content;
  return root;
}

/** Own properties only: a path that was made up must not reach a prototype. */
function own(holder: Record<string | number, unknown>, step: string | number): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, step))
    throw new Error(`there is no place ${step} for a segment`);
  return holder[step];
}
