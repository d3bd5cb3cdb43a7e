import type { InFlight } from './in-flight.js';
import type { Invocation } from './invocation.js';

/**
 * Adds `signal` to context objects without changing the library and without cost for functions that do not use it: the
 * first context of a class adds a getter to its prototype, which finds the invocation by the id of the context. A class
 * with a `signal` of its own keeps it.
 */
export class ContextSignals {
  readonly #inFlight: InFlight;
  readonly #known = new WeakSet<object>();
  #never: AbortSignal | undefined;

  constructor(inFlight: InFlight) {
    this.#inFlight = inFlight;
  }

  addTo(context: unknown, invocation: Invocation): void {
    if (typeof context !== 'object' || context === null) return;
    const prototype: unknown = Object.getPrototypeOf(context);
    if (typeof prototype === 'object' && prototype !== null && this.#known.has(prototype)) return;
    this.#addFirst(context, prototype, invocation);
  }

  #addFirst(context: object, prototype: unknown, invocation: Invocation): void {
    const isClass = typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype;
    if (isClass && 'signal' in prototype) this.#known.add(prototype);
    if ('signal' in context || !Object.isExtensible(context)) return;
    if (isClass && Object.isExtensible(prototype)) {
      this.#known.add(prototype);
      const find = (found: unknown): AbortSignal => this.#signalOf(found);
      define(prototype, function signal(this: unknown) {
        return find(this);
      });
    } else {
      define(context, () => invocation.signal);
    }
  }

  /** A context whose invocation has ended, or that a test created, gets a signal that never aborts. */
  #signalOf(context: unknown): AbortSignal {
    const id = typeof context === 'object' && context !== null && 'invocationId' in context ? context.invocationId : '';
    const invocation = typeof id === 'string' ? this.#inFlight.findRunning(id) : undefined;
    if (invocation) return invocation.signal;
    this.#never ??= new AbortController().signal;
    return this.#never;
  }
}

function define(target: object, get: () => AbortSignal): void {
  Object.defineProperty(target, 'signal', { get, configurable: true, enumerable: false });
}
