/** Where the home of a partition is, seen from one replica. */
export type OwnerLocation =
  | { readonly kind: 'local' }
  | { readonly kind: 'remote'; readonly url: string; readonly replicaId: string }
  | { readonly kind: 'moving' };

export const here: OwnerLocation = { kind: 'local' };
export const moving: OwnerLocation = { kind: 'moving' };

/** Who runs what belongs to a partition. All partitions of one call are distinct; calls for one partition never overlap. */
export interface OwnershipListener {
  /**
   * This replica became the home: take up what is unfinished. Requests are let in once it has resolved. When it rejects,
   * `lost` is called and it is tried again later.
   */
  acquired(partitions: readonly number[]): Promise<void>;
  /**
   * Hand over: dispatch nothing new of these, finish what runs; resolves when nothing of them runs here. When the deadline
   * aborts it must resolve at once; otherwise `lost` is called.
   */
  releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void>;
  /** No longer ours, without notice: drop everything of them at once. Also while `acquired` or `releasing` is under way. */
  lost(partitions: readonly number[]): void;
}

/** What the rest of the control plane sees of ownership. */
export interface OwnerDirectory {
  /** At once, from what is known. */
  locate(partition: number): OwnerLocation;
  /** Waits until the partition is here or there; `moving` when time is up. */
  waitForOwner(partition: number, withinMs: number): Promise<OwnerLocation>;
  /** Call it when a home could not be reached: perhaps it is gone. */
  refresh(): void;
}
