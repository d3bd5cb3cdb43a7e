export interface StoredState {
  readonly key: string;
  readonly value: string;
  /** Changes with every write. */
  readonly version: string;
}

/**
 * The small durable state of triggers that all runtimes of an application share: schedule status, checkpoints, ownership of
 * partitions, receipts. Every write is a compare-and-set, so that of two runtimes one learns that it was late.
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
