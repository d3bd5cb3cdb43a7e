import { defineStates, type PublishedEvent } from '@drover/contracts';
import { BackOff, WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { SubscribeOptions, Subscription } from './event-bus.js';
import type { EventBusObservation } from './observations.js';

/**
 * - standing-by: not ours to do, or the log cannot be read at the moment
 * - delivering: events are handed over as they come
 * - closed: for good
 */
export const subscriptionStates = defineStates('subscription', {
  'standing-by': ['delivering', 'closed'],
  delivering: ['standing-by', 'closed'],
  closed: [],
});

export interface Batch {
  readonly events: readonly PublishedEvent[];
  /** Everything up to here has been looked at: also what belongs to other topics. */
  readonly upTo: number;
  /** Nothing more was there when it was read: there is no need to look again before somebody rings. */
  readonly isComplete: boolean;
  /** Events up to here are removed; 0 when none were. */
  readonly trimmed: number;
}

/** The right to work under a name, and where whoever had it before stopped. */
export interface Claim {
  readonly position: number;
  /** False as soon as another one may have it. */
  isHeld(): boolean;
}

/** What a subscription needs from the place where events are kept. */
export interface EventLog {
  /** Makes this the only one that works under its name, and says where it stopped; nothing while another one is. */
  claim(): Promise<Claim | undefined>;
  read(after: number): Promise<Batch>;
  /** Remembers how far a named subscriber came. */
  remember(position: number): Promise<void>;
  letGo(): Promise<void>;
}

export interface DeliveryOptions {
  readonly subscriber: string;
  readonly handle: SubscribeOptions['handle'];
  readonly onGap: SubscribeOptions['onGap'] | undefined;
  readonly log: EventLog;
  /** How long to wait for a wake-up before looking anyway. */
  readonly pollMs: number;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EventBusObservation>;
}

const retryBackOff = { firstMs: 50, maxMs: 10_000, factor: 2 };
/** Between two notes of how far a named subscriber came: what it handled since may come again after a crash. */
const rememberEveryMs = 250;

/** One subscriber's way through the log: independent of all others, so a slow one holds up nobody. */
export class Delivery implements Subscription {
  readonly #options: DeliveryOptions;
  readonly #closing = new AbortController();
  readonly #wakeUp = new WakeUp();
  readonly #state;
  readonly #done: Promise<void>;
  #position = 0;
  #remembered = 0;
  #rememberedAtMs = 0;

  constructor(options: DeliveryOptions) {
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

  /** There may be something new. */
  wake(): void {
    this.#wakeUp.notify();
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('subscription closed'));
    await this.#done;
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
        // What this process has handled stays handled, whatever was noted of it.
        this.#position = Math.max(this.#position, claim.position);
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
    // Both save work for the next one under this name; neither is needed for the promise of the bus.
    await this.#remember(true).catch(() => undefined);
    await log.letGo().catch(() => undefined);
  }

  async #deliver(claim: Claim, readBackOff: BackOff): Promise<void> {
    const { log } = this.#options;
    while (this.#mayGoOn(claim)) {
      this.#wakeUp.reset();
      const { events, upTo, isComplete, trimmed } = await log.read(this.#position);
      readBackOff.reset();
      if (this.#position < trimmed) await this.#reportGap(trimmed);
      for (const event of events) {
        if (!(await this.#hand(event, claim))) return;
        await this.#remember(false);
      }
      this.#position = Math.max(this.#position, upTo);
      await this.#remember(false);
      if (isComplete) await this.#wait();
    }
  }

  /** Hands the event over until the handler takes it, the subscription ends or its name may be another one's. */
  async #hand(event: PublishedEvent, claim: Claim): Promise<boolean> {
    const { handle, subscriber, clock, observe } = this.#options;
    const { topic, position } = event;
    const backOff = new BackOff(retryBackOff, this.#options);
    while (this.#mayGoOn(claim)) {
      try {
        await handle(event);
        this.#position = position;
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

  /** Asked before every event: a batch may take long, and meanwhile somebody else may have the name. */
  #mayGoOn(claim: Claim): boolean {
    return !this.#closing.signal.aborted && claim.isHeld();
  }

  async #reportGap(trimmed: number): Promise<void> {
    const gap = { after: this.#position, next: trimmed + 1 };
    this.#options.observe({ kind: 'bus.gap', subscriber: this.#options.subscriber, ...gap });
    await this.#options.onGap?.(gap);
    this.#position = trimmed;
  }

  async #remember(now: boolean): Promise<void> {
    const atMs = this.#options.clock.monotonicMs();
    if (this.#position === this.#remembered) return;
    if (!now && atMs - this.#rememberedAtMs < rememberEveryMs) return;
    await this.#options.log.remember(this.#position);
    this.#remembered = this.#position;
    this.#rememberedAtMs = atMs;
  }

  #wait(): Promise<void> {
    const { clock, pollMs } = this.#options;
    const isNoted = this.#position === this.#remembered;
    return this.#wakeUp.wait(clock, isNoted ? pollMs : Math.min(pollMs, rememberEveryMs), this.#closing.signal);
  }
}

/** Closes them all; resolves when none has an event in hand, or when the deadline aborts. */
export async function closeAll(deliveries: Iterable<Delivery>, deadline: AbortSignal): Promise<void> {
  const closed = Promise.all([...deliveries].map((delivery) => delivery.close()));
  if (deadline.aborted) return;
  let giveUp = (): void => undefined;
  const cut = new Promise<void>((resolve) => (giveUp = resolve));
  deadline.addEventListener('abort', giveUp, { once: true });
  await Promise.race([closed, cut]);
  deadline.removeEventListener('abort', giveUp);
}
