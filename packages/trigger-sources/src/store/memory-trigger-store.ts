import { inKeyOrder, type StoredState, type TriggerStore } from './trigger-store.js';

/** State that lives as long as its process: for tests, and for a runtime without a database or a storage account. */
export class MemoryTriggerStore implements TriggerStore {
  readonly #states = new Map<string, StoredState>();
  #writes = 0;

  async read(key: string, signal: AbortSignal): Promise<StoredState | undefined> {
    signal.throwIfAborted();
    return this.#states.get(key);
  }

  async write(
    key: string,
    value: string,
    expected: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    signal.throwIfAborted();
    if (this.#states.get(key)?.version !== expected) return undefined;
    this.#writes += 1;
    const version = String(this.#writes);
    this.#states.set(key, { key, value, version });
    return version;
  }

  async list(prefix: string, signal: AbortSignal): Promise<readonly StoredState[]> {
    signal.throwIfAborted();
    return inKeyOrder([...this.#states.values()].filter(({ key }) => key.startsWith(prefix)));
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#states.delete(key);
  }
}
