/**
 * The owner of a partition, as one replica sees it.
 *
 * - local: this replica owns the partition and serves it
 * - remote: another replica owns it and is reached at `url`
 * - moving: no replica serves it at the moment, or this one does not know which
 */
export type OwnerLocation =
  | { readonly kind: 'local' }
  | { readonly kind: 'remote'; readonly url: string; readonly replicaId: string }
  | { readonly kind: 'moving' };

export const localOwner: OwnerLocation = { kind: 'local' };
export const movingOwner: OwnerLocation = { kind: 'moving' };

/** Answers which replica owns a partition. */
export interface OwnerDirectory {
  /** Returns the last known location, without waiting. */
  locate(partition: number): OwnerLocation;
  /** Resolves when the partition is local or remote; with `moving` after `withinMs`. */
  waitForOwner(partition: number, withinMs: number): Promise<OwnerLocation>;
  /** Reads the owners again soon. Call it when an owner cannot be reached: it may have failed. */
  refresh(): void;
}
