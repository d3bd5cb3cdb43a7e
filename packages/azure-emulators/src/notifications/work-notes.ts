/** A question of a client that waits for work of an entity without receiving from it. */
export interface WorkQuestion {
  /** Notes with this name are about the question. */
  readonly entity: string;
  /** True: there is work. A number: look again at that time, in milliseconds since 1970. False: after the next note. */
  look(): boolean | number;
}

/** A service whose entities can be waited for. */
export interface WorkSource {
  /** Its name in the protocol. */
  readonly service: string;
  /** Understands the question of a client; returns undefined if it cannot be answered here. */
  question(fields: Readonly<Record<string, unknown>>): WorkQuestion | undefined;
}

/** Tells which entities of a service may have got work. Costs nothing while no client asks. Names are compared without case. */
export class WorkNotes {
  readonly #listeners = new Map<string, Set<() => void>>();

  note(entity: string): void {
    if (this.#listeners.size === 0) return;
    for (const listener of this.#listeners.get(entity.toLowerCase()) ?? []) listener();
  }

  /** Calls `listener` with every note about the entity. Returns the function that ends it. */
  listen(entity: string, listener: () => void): () => void {
    const key = entity.toLowerCase();
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }
}
