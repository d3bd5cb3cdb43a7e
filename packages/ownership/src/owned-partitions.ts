import type { StateMachine } from '@drover/contracts';
import { backOffMs, deadlineAfter, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { afterDeadline } from './deadlines.js';
import { partitionStates } from './ownership-states.js';
import type { HeldPartition, PartitionRow, OwnershipTable } from './ownership-table.js';
import type { OwnershipTimings } from './ownership-timings.js';
import type { OwnershipListener } from './ownership-listener.js';
import type { OwnershipObservation } from './observations.js';
import { partitionCount } from './partitions.js';

type PartitionState = (typeof partitionStates.all)[number];
type LossReason = Extract<OwnershipObservation, { readonly kind: 'ownership.lost' }>['reason'];

interface Slot {
  readonly partition: number;
  readonly state: StateMachine<PartitionState>;
  /** Set while this replica owns the partition. */
  token: number | undefined;
  /** Settles when the listener is done with the partition; until then it is neither acquired nor released. */
  busy: Promise<void> | undefined;
  /** Consecutive failures to recover it. */
  failures: number;
  /** The next acquisition waits until then. */
  notBeforeMs: number;
}

export interface OwnedPartitionsOptions {
  readonly listener: OwnershipListener;
  readonly table: Pick<OwnershipTable, 'acquire' | 'release'>;
  readonly timings: Pick<OwnershipTimings, 'handoverMs' | 'forceAfterMs'>;
  /** The state of a partition has changed. */
  readonly onChanged: (partition: number) => void;
  /** The listener is done with a partition: the next poll may acquire or release it. */
  readonly onSettled: () => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<OwnershipObservation>;
}

const recoverBackOff = { firstMs: 250, maxMs: 10_000, factor: 2 };

/** The partitions that this replica owns: acquires, releases and drops them, and notifies the listener. */
export class OwnedPartitions {
  readonly #options: OwnedPartitionsOptions;
  readonly #slots: readonly Slot[];
  /** Releases that go into the next statement. */
  #toRelease: HeldPartition[] = [];
  #releasing: Promise<void> | undefined;
  /** Released, for the next observation. */
  readonly #released: number[] = [];

  constructor(options: OwnedPartitionsOptions) {
    this.#options = options;
    const { observe, onChanged } = options;
    this.#slots = Array.from({ length: partitionCount }, (_, partition) => ({
      partition,
      state: partitionStates.start('not-owned', ({ from, to }) => {
        observe({ kind: 'ownership.partition-moved', partition, from, to });
        onChanged(partition);
      }),
      token: undefined,
      busy: undefined,
      failures: 0,
      notBeforeMs: -Infinity,
    }));
  }

  tokenOf(partition: number): number | undefined {
    return this.#slots[partition]?.token;
  }

  isOwned(partition: number): boolean {
    return this.#slots[partition]?.state.is('owned') ?? false;
  }

  /** Neither owned nor being acquired. */
  isNotOwned(partition: number): boolean {
    return this.#slots[partition]?.state.is('not-owned', 'lost') ?? true;
  }

  holdings(): readonly HeldPartition[] {
    return heldBy(this.#slots);
  }

  /** Compares what this replica owned before a poll with the rows that it read, and drops what another replica has taken. */
  compare(before: readonly HeldPartition[], rows: readonly PartitionRow[], replicaId: string): void {
    const taken = before.filter(({ partition, token }) => {
      const row = rows[partition];
      return (row?.holder !== replicaId || row.token !== token) && this.#slots[partition]?.token === token;
    });
    // What was lost before this poll may be acquired by its rows; what this poll finds lost, not before the next one.
    for (const { state } of this.#slots) if (state.is('lost')) state.move('not-owned');
    this.#drop(this.#slotsOf(taken), 'taken');
  }

  dropAll(reason: LossReason): void {
    this.#drop(
      this.#slots.filter(({ token }) => token !== undefined),
      reason,
    );
  }

  /** Acquires those of `free` that are ready for it. `isLeaseValid` is asked once the database has answered. */
  async acquire(free: readonly PartitionRow[], isLeaseValid: () => boolean): Promise<void> {
    const { table, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const wanted = free.filter(({ partition }) => {
      const slot = this.#slots[partition];
      return slot?.state.is('not-owned') && slot.busy === undefined && slot.notBeforeMs <= nowMs;
    });
    if (wanted.length === 0) return;
    const slots = this.#slotsOf(wanted);
    for (const { state } of slots) state.move('acquiring');
    const taken = await table.acquire(wanted).catch((error: unknown) => {
      for (const { state } of slots) state.move('not-owned');
      throw error;
    });
    const tokens = new Map(isLeaseValid() ? taken.map(({ partition, token }) => [partition, token]) : []);
    for (const slot of slots) {
      slot.token = tokens.get(slot.partition);
      slot.state.move(slot.token === undefined ? 'not-owned' : 'recovering');
    }
    const acquired = slots.filter(({ token }) => token !== undefined);
    if (acquired.length > 0) this.#occupy(acquired, this.#recover(acquired));
  }

  /** Starts to release the partitions that another replica should own. */
  releaseUnless(isDesired: (partition: number) => boolean): void {
    const { clock, timings } = this.#options;
    for (const slot of this.#slots) {
      if (!slot.state.is('owned') || isDesired(slot.partition)) continue;
      const deadline = deadlineAfter(clock, timings.handoverMs);
      this.#occupy(
        [slot],
        this.#handOver(slot, deadline.signal).finally(() => deadline.cancel()),
      );
    }
  }

  /** Releases every partition, one that is being recovered as soon as it is. When it resolves, this replica owns nothing. */
  async releaseAll(deadline: AbortSignal): Promise<void> {
    const { clock, timings } = this.#options;
    // One signal per partition: Node reports sixteen listeners on one signal as a leak.
    const deadlines = this.#slots.map(() => new AbortController());
    const aborted = afterDeadline(deadline, clock, 0);
    void aborted.reached.then(() => {
      for (const each of deadlines) each.abort(deadline.reason);
    });
    // The listener has a moment after its deadline to stop what runs.
    const overdue = afterDeadline(deadline, clock, 2 * timings.forceAfterMs);
    const handOver = this.#slots.map(async (slot, index) => {
      await Promise.race([slot.busy, aborted.reached]);
      const { signal } = deadlines[index] ?? { signal: deadline };
      if (slot.state.is('owned')) this.#occupy([slot], this.#handOver(slot, signal));
      await Promise.race([slot.busy, overdue.reached]);
      if (slot.token === undefined) return;
      const held = heldBy([slot]);
      this.#drop([slot], 'overdue');
      await this.#release(held);
    });
    await Promise.all(handOver);
    aborted.cancel();
    overdue.cancel();
  }

  /** Releases rows that still name this replica although it has dropped them: the statement that released them got lost. */
  async releaseStrays(
    rows: readonly PartitionRow[],
    replicaId: string,
    isStray: (partition: number) => boolean,
  ): Promise<void> {
    const strays = rows.filter(({ partition, holder }) => {
      const slot = this.#slots[partition];
      return holder === replicaId && slot?.state.is('not-owned') && slot.busy === undefined && isStray(partition);
    });
    if (strays.length > 0) await this.#options.table.release(strays);
  }

  async #recover(slots: readonly Slot[]): Promise<void> {
    const { listener, clock, observe } = this.#options;
    const startedMs = clock.monotonicMs();
    const tokens = new Map(slots.map(({ partition, token }) => [partition, token]));
    const stillOwned = (): Slot[] =>
      slots.filter(({ partition, token }) => token !== undefined && token === tokens.get(partition));
    try {
      await listener
        .acquired(slots.map(({ partition }) => partition))
        .finally(() => this.#repeatLoss(slots, stillOwned()));
    } catch (error) {
      const failed = stillOwned();
      if (failed.length === 0) return;
      observe({ kind: 'ownership.recovery-failed', partitions: failed.map(({ partition }) => partition), error });
      const held = heldBy(failed);
      this.#drop(failed, 'not-recovered');
      for (const slot of failed) {
        slot.failures += 1;
        slot.notBeforeMs = clock.monotonicMs() + backOffMs(recoverBackOff, slot.failures, this.#options.randomness);
      }
      return this.#release(held);
    }
    const acquired = stillOwned();
    for (const slot of acquired) {
      slot.failures = 0;
      slot.state.move('owned');
    }
    if (acquired.length === 0) return;
    observe({
      kind: 'ownership.acquired',
      partitions: acquired.map(({ partition }) => partition),
      durationMs: clock.monotonicMs() - startedMs,
      owned: this.#countOwned(),
    });
  }

  /** The listener may have gone on after it was told of a loss. What it has set up since must go, or it stays for ever. */
  #repeatLoss(slots: readonly Slot[], owned: readonly Slot[]): void {
    const lost = slots.filter((slot) => !owned.includes(slot)).map(({ partition }) => partition);
    if (lost.length > 0) this.#options.listener.lost(lost);
  }

  async #handOver(slot: Slot, deadline: AbortSignal): Promise<void> {
    const held = heldBy([slot]);
    slot.state.move('releasing');
    const finished = await this.#finish(slot.partition, deadline);
    // Lost meanwhile: there is nothing to release.
    if (!slot.state.is('releasing')) return;
    if (!finished) this.#drop([slot], 'overdue');
    slot.token = undefined;
    await this.#release(held);
    if (!slot.state.is('releasing')) return;
    slot.state.move('not-owned');
    this.#observeReleased(slot.partition);
  }

  /** Partitions that were released together are one log line. */
  #observeReleased(partition: number): void {
    if (this.#released.push(partition) > 1) return;
    queueMicrotask(() => {
      this.#options.observe({
        kind: 'ownership.released',
        partitions: this.#released.splice(0),
        owned: this.#countOwned(),
      });
    });
  }

  /** Returns false when the listener has not stopped in time. */
  async #finish(partition: number, deadline: AbortSignal): Promise<boolean> {
    const { listener, clock, timings } = this.#options;
    const overdue = afterDeadline(deadline, clock, timings.forceAfterMs);
    try {
      const finished = listener.releasing([partition], deadline).then(() => true);
      return await Promise.race([finished, overdue.reached.then(() => false)]);
    } catch {
      return false;
    } finally {
      overdue.cancel();
    }
  }

  /** Releases that are due in the same turn of the event loop share a statement. */
  #release(held: readonly HeldPartition[]): Promise<void> {
    this.#toRelease.push(...held);
    return (this.#releasing ??= Promise.resolve().then(async () => {
      this.#releasing = undefined;
      // If it gets lost, a later poll finds the rows (`releaseStrays`).
      await this.#options.table.release(this.#toRelease.splice(0)).catch(() => undefined);
    }));
  }

  #drop(slots: readonly Slot[], reason: LossReason): void {
    const { listener, observe } = this.#options;
    if (slots.length === 0) return;
    for (const slot of slots) {
      slot.token = undefined;
      slot.state.move('lost');
    }
    const partitions = slots.map(({ partition }) => partition);
    listener.lost(partitions);
    observe({ kind: 'ownership.lost', partitions, reason, owned: this.#countOwned() });
  }

  #occupy(slots: readonly Slot[], work: Promise<void>): void {
    const done = work.finally(() => {
      for (const slot of slots) slot.busy = undefined;
      this.#options.onSettled();
    });
    for (const slot of slots) slot.busy = done;
  }

  #slotsOf(list: readonly { readonly partition: number }[]): Slot[] {
    return list.flatMap(({ partition }) => this.#slots[partition] ?? []);
  }

  #countOwned(): number {
    return this.#slots.filter(({ state }) => state.is('owned')).length;
  }
}

function heldBy(slots: readonly Slot[]): HeldPartition[] {
  return slots.flatMap(({ partition, token }) => (token === undefined ? [] : [{ partition, token }]));
}
