export interface StoredState {
  readonly key: string;
  readonly value: string;
  /** Changes with every write, also when a removed key is written again. */
  readonly version: string;
}

/**
 * The small durable state of triggers that all runtimes of an application share: schedule status, checkpoints, ownership of
 * partitions, receipts. Every write is a compare-and-set, so that of two runtimes one learns that it was late.
 *
 * Keys are text without control characters, up to 256 characters. A rejected or aborted `write` may have been applied: read the
 * state again before the next attempt. `Lease` does this, and is the way to let one runtime at a time do something.
 */
export interface TriggerStore {
  read(key: string, signal: AbortSignal): Promise<StoredState | undefined>;
  /**
   * Writes a state that still has the version `expected`; undefined stands for "does not exist". Resolves with the new version,
   * or with undefined if another runtime has written meanwhile.
   */
  write(key: string, value: string, expected: string | undefined, signal: AbortSignal): Promise<string | undefined>;
  /** Lists all states whose key begins with `prefix`, in the order of their keys. */
  list(prefix: string, signal: AbortSignal): Promise<readonly StoredState[]>;
  remove(key: string, signal: AbortSignal): Promise<void>;
}

/** Sorts states by their keys, code unit by code unit: databases and storage accounts each have an order of their own. */
export function inKeyOrder(states: readonly StoredState[]): readonly StoredState[] {
  return states.toSorted((one, other) => (one.key < other.key ? -1 : 1));
}
