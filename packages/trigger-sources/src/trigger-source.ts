import type { Lifecycle } from '@drover/service-kit';

/** What came from a source and wants to be run. */
export interface Delivery {
  /** What the function gets: text, bytes, or several of them when it takes batches. */
  readonly data: string | Uint8Array | readonly string[] | readonly Uint8Array[];
  /** What is known about it, under the names the protocol gives them; plain JSON values, strings stay strings. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** How often it was handed out, this time included. */
  readonly deliveryCount: number;
  /** W3C trace of whoever sent it, where the source carries one. */
  readonly traceparent: string | undefined;
}

/** What becomes of it after it ran. */
export type Settlement =
  | { readonly kind: 'complete' }
  /** Comes back, at once or after a while. */
  | { readonly kind: 'abandon'; readonly delayMs?: number }
  /** Never comes back; put aside with the reason where the source can do that. Where there is no aside, it is kept. */
  | { readonly kind: 'deadLetter'; readonly reason: string };

/**
 * Runs one delivery and says what is to become of it; never throws. The signal aborts when the delivery is lost to us (its
 * lease could not be renewed): whatever we then say comes too late.
 */
export type Deliver = (delivery: Delivery, lost: AbortSignal) => Promise<Settlement>;

/**
 * Takes events from one place for one function, between start and stop, except while it is paused. A source that is away
 * is waited for: `start` does not fail for it. `stop` gives back what is not settled, and aborts the signal of what still
 * runs. `measure` works without a start.
 */
export interface TriggerListener extends Lifecycle {
  /**
   * Resolves with what broke the listener for good, a mistake of its own. A source that is away, or denies, is none: a
   * listener waits for it.
   */
  readonly broken: Promise<unknown>;
  pause(): void;
  resume(): void;
  /** What waits there, for whoever decides how many workers there should be. */
  measure(signal: AbortSignal): Promise<Backlog>;
}

export interface Backlog {
  readonly waiting: number;
  /** Undefined where the source cannot tell. */
  readonly oldestAgeMs: number | undefined;
}

/** Where messages of an output binding go. */
export interface OutputTarget {
  /** Resolves when all of them are safe at the other side. */
  send(messages: readonly OutputMessage[], signal: AbortSignal): Promise<void>;
}

export interface OutputMessage {
  readonly body: string | Uint8Array;
}
