import type { NewEvent, PublishedEvent, Topic } from '@drover/contracts';
import type { Transaction } from '@drover/database';
import type { Lifecycle } from '@drover/service-kit';

/**
 * Delivers events to subscribers at least once and, per key, in the order of publication. A named subscriber resumes where it
 * stopped. A subscriber must not depend on receiving every event: events older than the retention time are removed, which
 * `onGap` reports.
 */
export interface EventBus extends Lifecycle {
  /**
   * Publishes all events or none. With `within` they are part of that transaction: they exist once it commits, and not if it
   * rolls back. Transactions that publish the same key must be serialized by a lock on the entity that the key names.
   */
  publish(events: readonly NewEvent[], within?: Transaction): Promise<void>;
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Returns the position of the newest event: read it before a snapshot, then subscribe from there. */
  lastPosition(): Promise<number>;
  /**
   * Waits until all processes with a bus on this store have handled all events that were committed before the call, and their
   * participants have agreed. Returns what it still waits for after `withinMs`; an empty list says that the changes hold everywhere.
   * Does not reject: the changes are committed, whatever happens now. Named subscribers are queues of work, and are not waited for.
   */
  barrier(options: BarrierOptions): Promise<readonly string[]>;
  /** Adds to what other processes wait for in `barrier`: more than the handlers of subscriptions of this process. */
  onBarrier(participant: BarrierParticipant): void;
}

export interface BarrierOptions {
  readonly withinMs: number;
  readonly about?: BarrierSubject | undefined;
}

/** The change that the caller of `barrier` has made. */
export interface BarrierSubject {
  /** Name of the topic that announces it. */
  readonly topic: string;
  readonly key: string;
  readonly generation: number;
  /** The entity is gone, or on its way. */
  readonly removed: boolean;
}

/** Resolves when the change holds, or once `signal` has aborted with what it still waits for. */
export type BarrierParticipant = (
  about: BarrierSubject | undefined,
  signal: AbortSignal,
) => Promise<string | undefined>;

export interface SubscribeOptions {
  readonly topics: readonly Topic[];
  /**
   * With a name the bus saves the position of this subscriber. One process at a time delivers under a name; others with the
   * same name stand by and take over when it ends.
   */
  readonly name?: string;
  /** First position, exclusive, or only new events. A name that was used before resumes at its saved position instead. */
  readonly from: number | 'now';
  /** Called for one event at a time. If it fails, it is called again with the same event after a growing delay. */
  readonly handle: (event: PublishedEvent) => void | Promise<void>;
  /** Events after `after` and before `next` were removed before they were delivered: fetch a snapshot. */
  readonly onGap?: (gap: { readonly after: number; readonly next: number }) => void | Promise<void>;
}

export interface Subscription {
  /** Position of the last event that was handled or skipped because of its topic. */
  readonly position: number;
  /** Delivers no further event; resolves when the running handler has ended. */
  close(): Promise<void>;
}
