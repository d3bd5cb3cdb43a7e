import { defineStates, type PublishedEvent } from '@drover/contracts';
import { BackOff, WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { SubscribeOptions, Subscription } from './event-bus.js';
import type { EventBusObservation } from './observations.js';

/**
 * - standing-by: another process works under the name, or the log cannot be read at the moment
 * - delivering: events are passed to the handler as they arrive
 * - closed: the subscription has ended
 */
export const subscriptionStates = defineStates('subscription', {
  'standing-by': ['delivering', 'closed'],
  delivering: ['standing-by', 'closed'],
  closed: [],
});

export interface Batch {
  readonly events: readonly PublishedEvent[];
  /** The log was read up to this position, including events of other topics. */
  readonly upTo: number;
  /** The log had no further events when it was read: the next read can wait for a notification. */
  readonly isComplete: boolean;
  /** Events up to this position were removed by retention; 0 if none were. */
  readonly trimmed: number;
}

/** The right to deliver under a subscriber name, and the position that was saved for the name. */
export interface Claim {
  readonly position: number;
  /** False as soon as another process may hold the claim. */
  isHeld(): boolean;
}

/** The log of an adapter, as one subscription sees it. */
export interface EventLog {
  /** Claims the subscriber's name. Returns undefined while another subscription holds it. */
  claim(): Promise<Claim | undefined>;
  read(after: number): Promise<Batch>;
  /** Saves the position of a named subscriber. */
  savePosition(position: number): Promise<void>;
  release(): Promise<void>;
}

export interface EventDeliveryOptions {
  readonly subscriber: string;
  readonly handle: SubscribeOptions['handle'];
  readonly onGap: SubscribeOptions['onGap'] | undefined;
  readonly log: EventLog;
  /** Bound on a lost notification: the log is read at least this often. */
  readonly pollMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventBusObservation>;
}

const retryBackOff = { firstMs: 50, maxMs: 10_000, factor: 2 };
/** Interval between two saved positions: events handled since the last one may be delivered again after a crash. */
const saveEveryMs = 250;

/** Delivers the log to one subscriber, independently of all others: a slow handler delays only its own subscription. */
export class EventDelivery implements Subscription {
  readonly #options: EventDeliveryOptions;
  readonly #closing = new AbortController();
  readonly #wakeUp = new WakeUp();
  readonly #state;
  readonly #done: Promise<void>;
  /** Callers of `reached`, each with the position that it waits for. */
  readonly #awaited = new Map<() => void, number>();
  #position = 0;
  #saved = 0;
  #savedAtMs = 0;

  constructor(options: EventDeliveryOptions) {
    this.#options = options;
    const { subscriber, observe } = options;
    this.#state = subscriptionStates.start('standing-by', ({ to }) =>
      observe({ kind: 'bus.subscription', subscriber, state: to }),
    );
    this.#done = this.#run();
  }

  get position(): number {
    return this.#position;
  }

  /** Reads the log soon: new events may have arrived. */
  wake(): void {
    this.#wakeUp.notify();
  }

  /** Resolves when all events up to a position were handled, or the subscription has ended, or `signal` aborts. */
  reached(position: number, signal: AbortSignal): Promise<void> {
    if (this.#position >= position || this.#state.is('closed') || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        this.#awaited.delete(finish);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      this.#awaited.set(finish, position);
      signal.addEventListener('abort', finish, { once: true });
      this.#wakeUp.notify();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('subscription closed'));
    await this.#done;
  }

  #moveTo(position: number): void {
    this.#position = Math.max(this.#position, position);
    for (const [finish, awaited] of this.#awaited) if (awaited <= this.#position) finish();
  }

  async #run(): Promise<void> {
    const backOff = new BackOff(retryBackOff, this.#options);
    const { log, subscriber, observe } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        this.#wakeUp.reset();
        const claim = await log.claim();
        if (!claim) {
          await this.#wait();
          continue;
        }
        // Events that this process has handled are not delivered again, even if their position was not saved.
        this.#moveTo(claim.position);
        this.#state.move('delivering');
        await this.#deliver(claim, backOff);
      } catch (error) {
        if (signal.aborted) break;
        observe({ kind: 'bus.fetch-failed', subscriber, attempt: backOff.failures + 1, error });
        await backOff.wait(signal).catch(() => undefined);
      }
      if (this.#state.is('delivering')) this.#state.move('standing-by');
    }
    this.#state.move('closed');
    for (const finish of this.#awaited.keys()) finish();
    // Both save work for the next subscription under this name; the guarantees of the bus do not depend on them.
    await this.#savePosition(true).catch(() => undefined);
    await log.release().catch(() => undefined);
  }

  async #deliver(claim: Claim, readBackOff: BackOff): Promise<void> {
    const { log } = this.#options;
    while (this.#mayContinue(claim)) {
      this.#wakeUp.reset();
      const { events, upTo, isComplete, trimmed } = await log.read(this.#position);
      readBackOff.reset();
      if (this.#position < trimmed) await this.#reportGap(trimmed);
      for (const event of events) {
        if (!(await this.#deliverEvent(event, claim))) return;
        await this.#savePosition(false);
      }
      this.#moveTo(upTo);
      await this.#savePosition(false);
      if (isComplete) await this.#wait();
    }
  }

  /** Calls the handler until it succeeds. Returns false if the subscription ends or may have lost its name before. */
  async #deliverEvent(event: PublishedEvent, claim: Claim): Promise<boolean> {
    const { handle, subscriber, clock, observe } = this.#options;
    const { topic, position } = event;
    const backOff = new BackOff(retryBackOff, this.#options);
    while (this.#mayContinue(claim)) {
      try {
        await handle(event);
        this.#moveTo(position);
        const lagMs = Math.max(0, clock.now() - event.publishedAt.getTime());
        observe({ kind: 'bus.handled', subscriber, topic, position, lagMs });
        return true;
      } catch (error) {
        if (this.#closing.signal.aborted) return false;
        observe({ kind: 'bus.handler-failed', subscriber, topic, position, attempt: backOff.failures + 1, error });
        await backOff.wait(this.#closing.signal).catch(() => undefined);
      }
    }
    return false;
  }

  /** Checked before every event: a batch may take long, and the claim may be lost meanwhile. */
  #mayContinue(claim: Claim): boolean {
    return !this.#closing.signal.aborted && claim.isHeld();
  }

  async #reportGap(trimmed: number): Promise<void> {
    const gap = { after: this.#position, next: trimmed + 1 };
    this.#options.observe({ kind: 'bus.gap', subscriber: this.#options.subscriber, ...gap });
    await this.#options.onGap?.(gap);
    this.#moveTo(trimmed);
  }

  async #savePosition(now: boolean): Promise<void> {
    const atMs = this.#options.clock.monotonicMs();
    if (this.#position === this.#saved) return;
    if (!now && atMs - this.#savedAtMs < saveEveryMs) return;
    await this.#options.log.savePosition(this.#position);
    this.#saved = this.#position;
    this.#savedAtMs = atMs;
  }

  #wait(): Promise<void> {
    const { clock, pollMs } = this.#options;
    const isSaved = this.#position === this.#saved;
    return this.#wakeUp.wait(clock, isSaved ? pollMs : Math.min(pollMs, saveEveryMs), this.#closing.signal);
  }
}

/** Closes all deliveries; resolves when no handler is running or the deadline aborts. */
export async function closeDeliveries(deliveries: Iterable<EventDelivery>, deadline: AbortSignal): Promise<void> {
  const closed = Promise.all([...deliveries].map((delivery) => delivery.close()));
  if (deadline.aborted) return;
  let expire = (): void => undefined;
  const expired = new Promise<void>((resolve) => (expire = resolve));
  deadline.addEventListener('abort', expire, { once: true });
  await Promise.race([closed, expired]);
  deadline.removeEventListener('abort', expire);
}
