/** A class of the library. Only its prototype is known. */
export interface LibraryClass {
  readonly prototype: object;
}

const contextKeys = [
  'extraInputs',
  'extraOutputs',
  'functionName',
  'invocationId',
  'options',
  'retryContext',
  'traceContext',
  'triggerMetadata',
];
const contextMethods = ['constructor', 'debug', 'error', 'info', 'log', 'trace', 'warn'];
const storeMethods = ['constructor', 'get', 'set'];
const requestKeys = ['params', 'query'];
const requestMethods = [
  'arrayBuffer',
  'blob',
  'body',
  'bodyUsed',
  'clone',
  'constructor',
  'formData',
  'headers',
  'json',
  'method',
  'text',
  'url',
  'user',
];

/**
 * Returns the class of a context that the library created, if it has exactly the known members. With one more or one less
 * the library has changed, and the fast path must not replace its objects.
 */
export function contextClassOf(context: unknown): LibraryClass | undefined {
  if (!hasMembers(context, contextKeys, contextMethods)) return undefined;
  const { extraInputs, extraOutputs } = context as Record<string, unknown>;
  if (!hasMembers(extraInputs, [], storeMethods) || !hasMembers(extraOutputs, [], storeMethods)) return undefined;
  return classOf(context);
}

/** Returns the class of a request that the library created, under the same condition. */
export function requestClassOf(request: unknown): (LibraryClass & (new (init: object) => object)) | undefined {
  if (!hasMembers(request, requestKeys, requestMethods)) return undefined;
  return classOf(request) as (LibraryClass & (new (init: object) => object)) | undefined; // its members are those of HttpRequest
}

function hasMembers(value: unknown, keys: readonly string[], methods: readonly string[]): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== 'object' || prototype === null) return false;
  // ContextSignals adds `signal`.
  const members = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'signal');
  return same(Object.keys(value), keys) && same(members, methods);
}

function same(names: readonly string[], expected: readonly string[]): boolean {
  return names.length === expected.length && names.toSorted().every((name, at) => name === expected[at]);
}

function classOf(value: object): LibraryClass | undefined {
  const { constructor } = value;
  return typeof constructor === 'function' && constructor.prototype === Object.getPrototypeOf(value)
    ? constructor
    : undefined;
}
