import type { Lifecycle } from '@drover/service-kit';

/** What an extension of a worker needs to create an object of an SDK: ModelBindingData of the protocol. */
export interface BindingModel {
  readonly version: string;
  /** Names the kind of object. */
  readonly source: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

/** One event of a source, to be run by a function. */
export interface Delivery {
  /** The payload: text or bytes, or several of them for a batch. */
  readonly data: string | Uint8Array | readonly string[] | readonly Uint8Array[];
  /** Sent in place of the data, if the trigger asks for an object of an SDK; several for a batch. */
  readonly model?: BindingModel | readonly BindingModel[];
  /** Trigger metadata by the names of the protocol; plain JSON values. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Number of deliveries, this one included. */
  readonly deliveryCount: number;
  /** Identifies the event or the batch among all deliveries; undefined if the metadata has an `Id` or a `MessageId`. */
  readonly id?: string;
  /** W3C trace context of the sender, where the source carries one. */
  readonly traceparent: string | undefined;
}

/** The outcome that is reported to the source. */
export type Settlement =
  | { readonly kind: 'complete' }
  /** Delivered again, after `delayMs` or a delay that the source chooses. */
  | ({ readonly kind: 'abandon'; readonly delayMs?: number; readonly reason?: string } & FailureCause)
  /** Never delivered again: moved to the dead letters of the source. A source without dead letters keeps it. */
  | ({ readonly kind: 'deadLetter'; readonly reason: string } & FailureCause);

interface FailureCause {
  /**
   * True if the function ran and failed. Otherwise it did not run, or the platform failed: a source that reads a log must not
   * pass over such an event.
   */
  readonly byFunction?: boolean;
}

/**
 * Runs one delivery and resolves with its settlement; never rejects. The signal aborts when the lease of the delivery is lost:
 * its settlement has no effect any more.
 */
export type Deliver = (delivery: Delivery, lost: AbortSignal) => Promise<Settlement>;

/**
 * Receives the events of one source for one function between start and stop, except while paused. An unavailable source does
 * not fail `start`: the listener retries. `stop` releases unsettled deliveries and aborts their signals. `measure` works
 * without a start.
 */
export interface TriggerListener extends Lifecycle {
  /**
   * Resolves with the error that broke the listener, which is a defect. An unavailable source or denied access does not break
   * it: the listener retries.
   */
  readonly broken: Promise<unknown>;
  pause(): void;
  resume(): void;
  /**
   * Spreads deliveries over so many function workers: limits such as `batchSize` hold for each of them. One until told. Absent where
   * the number makes no difference.
   */
  scale?(workers: number): void;
  /** Measures the backlog for scaling decisions, cheaply enough for every second. Rejects with the reason if it cannot be known. */
  measure(signal: AbortSignal): Promise<Backlog>;
}

export interface Backlog {
  /** Messages that no consumer has, without scheduled, deferred and delayed ones. */
  readonly waiting: number;
  /** True if there may be more than `waiting`, because the source counts only up to a limit. */
  readonly isAtLeast?: boolean;
  /** Undefined if the source does not report it. */
  readonly oldestAgeMs: number | undefined;
  /** Unprocessed events by partition, for sources with partitions. */
  readonly lagByPartition?: Readonly<Record<string, number>>;
  /** Since the measurement before; undefined at the first. */
  readonly arrivalsPerSecond?: number | undefined;
  /** More function workers than this find nothing to do: partitions, distinct sessions. Undefined: no such bound is known. */
  readonly maxUsefulWorkers?: number;
  /** Events that one function worker is expected to take, from the options of the trigger. */
  readonly targetPerWorker?: number;
}

/** The target of an output binding. */
export interface OutputTarget {
  /** Resolves when the target has stored all messages. */
  send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void>;
}

export interface OutputMessage {
  readonly body: string | Uint8Array;
}
