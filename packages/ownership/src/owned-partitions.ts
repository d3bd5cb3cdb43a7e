import type { StateMachine } from '@drover/contracts';
import { backOffMs, deadlineAfter, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { partitionStates } from './ownership-states.js';
import type { HeldPartition, PartitionRow, OwnershipTable } from './ownership-table.js';
import type { OwnershipTimings } from './ownership-timings.js';
import type { OwnershipListener } from './owner-directory.js';
import type { OwnershipObservation } from './observations.js';
import { partitionCount } from './partitions.js';
import { pastDeadline } from './within.js';

type PartitionState = (typeof partitionStates.all)[number];
type LossReason = Extract<OwnershipObservation, { readonly kind: 'ownership.lost' }>['reason'];

interface Slot {
  readonly partition: number;
  readonly state: StateMachine<PartitionState>;
  /** Set while it is ours. */
  token: number | undefined;
  /** The listener is busy with it: until it is done, nothing new is begun with this partition. */
  busy: Promise<void> | undefined;
  /** How often in a row it could not be taken up. */
  failures: number;
  /** Not to be acquired before. */
  notBeforeMs: number;
}

export interface OwnedPartitionsOptions {
  readonly listener: OwnershipListener;
  readonly table: Pick<OwnershipTable, 'acquire' | 'release'>;
  readonly timings: Pick<OwnershipTimings, 'handoverMs' | 'forceAfterMs'>;
  /** Where the partition is may have changed. */
  readonly changed: (partition: number) => void;
  /** Something that stood in the way of a decision is done. */
  readonly settled: () => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<OwnershipObservation>;
}

const recoverBackOff = { firstMs: 250, maxMs: 10_000, factor: 2 };

/** The partitions, as far as they are ours: takes them, hands them over, drops them, and tells the listener. */
export class OwnedPartitions {
  readonly #options: OwnedPartitionsOptions;
  readonly #slots: readonly Slot[];
  /** Handed over, to be released in one statement with others that are. */
  #toRelease: HeldPartition[] = [];
  #releasing: Promise<void> | undefined;
  /** Handed over, and not yet said. */
  readonly #left: number[] = [];

  constructor(options: OwnedPartitionsOptions) {
    this.#options = options;
    const { observe, changed } = options;
    this.#slots = Array.from({ length: partitionCount }, (_, partition) => ({
      partition,
      state: partitionStates.start('not-owned', ({ from, to }) => {
        observe({ kind: 'ownership.partition-moved', partition, from, to });
        changed(partition);
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

  isHere(partition: number): boolean {
    return this.#slots[partition]?.state.is('owned') ?? false;
  }

  /** Neither ours nor about to be. */
  isElsewhere(partition: number): boolean {
    return this.#slots[partition]?.state.is('not-owned', 'lost') ?? true;
  }

  holdings(): readonly HeldPartition[] {
    return heldBy(this.#slots);
  }

  /** Compares what was ours before a look with what it showed. */
  compare(before: readonly HeldPartition[], rows: readonly PartitionRow[], replicaId: string): void {
    const taken = before.filter(({ partition, token }) => {
      const row = rows[partition];
      return (row?.holder !== replicaId || row.token !== token) && this.#slots[partition]?.token === token;
    });
    // What was lost before this look may be taken again by what it shows; what is lost by it, not before the next one.
    for (const { state } of this.#slots) if (state.is('lost')) state.move('not-owned');
    this.#drop(this.#slotsOf(taken), 'taken');
  }

  dropAll(reason: LossReason): void {
    this.#drop(
      this.#slots.filter(({ token }) => token !== undefined),
      reason,
    );
  }

  /** Takes those of `free` that can be taken now; `stillValid` is asked once the answer is there. */
  async acquire(free: readonly PartitionRow[], stillValid: () => boolean): Promise<void> {
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
    const tokens = new Map(stillValid() ? taken.map(({ partition, token }) => [partition, token]) : []);
    for (const slot of slots) {
      slot.token = tokens.get(slot.partition);
      slot.state.move(slot.token === undefined ? 'not-owned' : 'recovering');
    }
    const acquired = slots.filter(({ token }) => token !== undefined);
    if (acquired.length > 0) this.#occupy(acquired, this.#recover(acquired));
  }

  /** Begins to hand over what another one should have. */
  leaveUnless(isOurs: (partition: number) => boolean): void {
    const { clock, timings } = this.#options;
    for (const slot of this.#slots) {
      if (!slot.state.is('owned') || isOurs(slot.partition)) continue;
      const deadline = deadlineAfter(clock, timings.handoverMs);
      this.#occupy(
        [slot],
        this.#leave(slot, deadline.signal).finally(() => deadline.cancel()),
      );
    }
  }

  /** Hands everything over, what is just being taken up as soon as it is. Nothing is ours any more when it resolves. */
  async leaveAll(deadline: AbortSignal): Promise<void> {
    const { clock, timings } = this.#options;
    // A signal for each: sixteen listeners on one look like a leak.
    const deadlines = this.#slots.map(() => new AbortController());
    const aborted = pastDeadline(deadline, clock, 0);
    void aborted.reached.then(() => {
      for (const each of deadlines) each.abort(deadline.reason);
    });
    // The listener has a moment after its deadline.
    const overdue = pastDeadline(deadline, clock, 2 * timings.forceAfterMs);
    const handOver = this.#slots.map(async (slot, index) => {
      await Promise.race([slot.busy, aborted.reached]);
      const { signal } = deadlines[index] ?? { signal: deadline };
      if (slot.state.is('owned')) this.#occupy([slot], this.#leave(slot, signal));
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

  /** Rows that still name us although we let go: the statement that should have said so did not arrive. */
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
    const stillOurs = (): Slot[] =>
      slots.filter(({ partition, token }) => token !== undefined && token === tokens.get(partition));
    try {
      await listener.acquired(slots.map(({ partition }) => partition));
    } catch (error) {
      const failed = stillOurs();
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
    const acquired = stillOurs();
    for (const slot of acquired) {
      slot.failures = 0;
      slot.state.move('owned');
    }
    if (acquired.length === 0) return;
    observe({
      kind: 'ownership.acquired',
      partitions: acquired.map(({ partition }) => partition),
      durationMs: clock.monotonicMs() - startedMs,
      here: this.#countHere(),
    });
  }

  async #leave(slot: Slot, deadline: AbortSignal): Promise<void> {
    const held = heldBy([slot]);
    slot.state.move('releasing');
    const finished = await this.#finish(slot.partition, deadline);
    // Lost meanwhile: there is nothing to give back.
    if (!slot.state.is('releasing')) return;
    if (!finished) this.#drop([slot], 'overdue');
    slot.token = undefined;
    await this.#release(held);
    if (!slot.state.is('releasing')) return;
    slot.state.move('not-owned');
    this.#sayLeft(slot.partition);
  }

  /** Those that were released together are one line in the log. */
  #sayLeft(partition: number): void {
    if (this.#left.push(partition) > 1) return;
    queueMicrotask(() => {
      this.#options.observe({ kind: 'ownership.released', partitions: this.#left.splice(0), here: this.#countHere() });
    });
  }

  /** False when the listener neither finished nor let go in time. */
  async #finish(partition: number, deadline: AbortSignal): Promise<boolean> {
    const { listener, clock, timings } = this.#options;
    const overdue = pastDeadline(deadline, clock, timings.forceAfterMs);
    try {
      const finished = listener.releasing([partition], deadline).then(() => true);
      return await Promise.race([finished, overdue.reached.then(() => false)]);
    } catch {
      return false;
    } finally {
      overdue.cancel();
    }
  }

  /** Many partitions that are let go at about the same time are one statement. */
  #release(held: readonly HeldPartition[]): Promise<void> {
    this.#toRelease.push(...held);
    return (this.#releasing ??= Promise.resolve().then(async () => {
      this.#releasing = undefined;
      // If it does not arrive, a later look finds the rows.
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
    observe({ kind: 'ownership.lost', partitions, reason, here: this.#countHere() });
  }

  #occupy(slots: readonly Slot[], work: Promise<void>): void {
    const done = work.finally(() => {
      for (const slot of slots) slot.busy = undefined;
      this.#options.settled();
    });
    for (const slot of slots) slot.busy = done;
  }

  #slotsOf(list: readonly { readonly partition: number }[]): Slot[] {
    return list.flatMap(({ partition }) => this.#slots[partition] ?? []);
  }

  #countHere(): number {
    return this.#slots.filter(({ state }) => state.is('owned')).length;
  }
}

function heldBy(slots: readonly Slot[]): HeldPartition[] {
  return slots.flatMap(({ partition, token }) => (token === undefined ? [] : [{ partition, token }]));
}
