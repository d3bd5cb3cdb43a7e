import type { NewEvent, PublishedEvent, Topic } from '@drover/contracts';
import type { Transaction } from '@drover/database';
import type { Lifecycle } from '@drover/service-kit';

/**
 * Events to whoever wants them, at least once, in the order they were published for each key. A subscriber that was away
 * goes on where it stopped. Nobody may depend on having seen every event: events older than the retention time are gone,
 * and `onGap` says so.
 */
export interface EventBus extends Lifecycle {
  /**
   * Publishes all events or none. Within a transaction they are part of it: they exist once it commits, and never when
   * it rolls back. Two transactions that publish the same key must be kept apart by a lock on what the key names.
   */
  publish(events: readonly NewEvent[], within?: Transaction): Promise<void>;
  subscribe(options: SubscribeOptions): Promise<Subscription>;
  /** Position of the newest event: read it together with a snapshot, then subscribe from there. */
  lastPosition(): Promise<number>;
}

export interface SubscribeOptions {
  readonly topics: readonly Topic[];
  /**
   * With a name the bus remembers how far this subscriber came, for ever. One process at a time works under a name;
   * others that use it stand by and take over when it leaves.
   */
  readonly name?: string;
  /** Without a name, or the first time a name is used: after which position to begin, or only with what is new. */
  readonly from: number | 'now';
  /** One event at a time. When it fails it gets the same event again, after a growing pause, until it succeeds. */
  readonly handle: (event: PublishedEvent) => void | Promise<void>;
  /** Events after `after` and before `next` were removed before this subscriber saw them: fetch a snapshot. */
  readonly onGap?: (gap: { readonly after: number; readonly next: number }) => void | Promise<void>;
}

export interface Subscription {
  /** The last event that was handled, or passed over because of its topic. */
  readonly position: number;
  /** Handles no further event; resolves when the one in hand is done. */
  close(): Promise<void>;
}
