import type { StoredState, TriggerStore } from './trigger-store.js';

/** State that lives as long as its process: for tests, and for a runtime without a database or a storage account. */
export class MemoryTriggerStore implements TriggerStore {
  readonly #states = new Map<string, StoredState>();
  #writes = 0;

  async read(key: string): Promise<StoredState | undefined> {
    return this.#states.get(key);
  }

  async write(key: string, value: string, expected: string | undefined): Promise<string | undefined> {
    if (this.#states.get(key)?.version !== expected) return undefined;
    this.#writes += 1;
    const version = String(this.#writes);
    this.#states.set(key, { key, value, version });
    return version;
  }

  async list(prefix: string): Promise<readonly StoredState[]> {
    return [...this.#states.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .toSorted((one, other) => (one.key < other.key ? -1 : 1));
  }

  async remove(key: string): Promise<void> {
    this.#states.delete(key);
  }
}
