/**
 * Runs the work of partitions while this replica owns them. The partitions of one call are distinct, and `acquired` and `releasing`
 * of one partition never overlap.
 */
export interface OwnershipListener {
  /**
   * This replica owns the partitions and holds their fencing tokens. Recover their unfinished work; requests are served once this
   * has resolved. When it rejects, `lost` is called, the partitions are released, and the acquisition is retried with a back-off.
   */
  acquired(partitions: readonly number[]): Promise<void>;
  /**
   * The partitions go to another replica. Start nothing new for them and resolve when nothing of them runs here. Resolve at once when
   * the deadline aborts: otherwise `lost` is called a moment later and the partitions are released all the same.
   */
  releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void>;
  /**
   * This replica could not act for the partitions for a while, because its lease was over, and no other replica has taken them: go on.
   * What ran in the meantime was not interrupted.
   */
  resumed?(partitions: readonly number[]): void;
  /**
   * The partitions are gone without notice. Drop their work synchronously, also while `acquired` or `releasing` runs. Called again when an
   * `acquired` ends that ran meanwhile.
   */
  lost(partitions: readonly number[]): void;
}

/**
 * Several listeners as one. `acquired` and `releasing` call them one after the other, in the order in which they were added; `resumed`
 * and `lost` call all of them at once.
 */
export class OwnershipListeners implements OwnershipListener {
  readonly #listeners: OwnershipListener[] = [];

  add(listener: OwnershipListener): void {
    this.#listeners.push(listener);
  }

  async acquired(partitions: readonly number[]): Promise<void> {
    for (const listener of this.#listeners) await listener.acquired(partitions);
  }

  async releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void> {
    for (const listener of this.#listeners) await listener.releasing(partitions, deadline);
  }

  resumed(partitions: readonly number[]): void {
    for (const listener of this.#listeners) listener.resumed?.(partitions);
  }

  lost(partitions: readonly number[]): void {
    for (const listener of this.#listeners) listener.lost(partitions);
  }
}
