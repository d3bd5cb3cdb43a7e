import type { ServiceBusSessionReceiver } from '@azure/service-bus';
import { WakeUp, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { LockedMessages } from '../locked-messages.js';
import { rejectOnAbort } from '../requests.js';
import { receiveOptions, type Bus, type BusClients } from './bus-clients.js';
import type { BusMessage } from './bus-message.js';
import type { BusOutage } from './bus-outage.js';
import type { DeliveryLane } from './delivery-lane.js';
import { failureOfBus, isSessionTimeout } from './failures.js';
import type { LockRenewals } from './lock-renewals.js';
import type { MessageLink, BusMessageLock } from './bus-message-lock.js';
import type { ServiceBusObservation } from './observations.js';
import { LinkAttempts, type Receiving } from './receiving.js';
import type { ServiceBusTriggerOptions } from './service-bus-options.js';
import { SessionLink } from './session-link.js';

interface SessionReceivingOptions {
  readonly application: string;
  readonly functionName: string;
  readonly options: ServiceBusTriggerOptions;
  readonly clients: BusClients;
  readonly outage: BusOutage;
  readonly renewals: LockRenewals;
  readonly lockedMessages: LockedMessages;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ServiceBusObservation>;
  readonly createLane: (onIdle: () => void) => DeliveryLane;
  readonly removeLane: (lane: DeliveryLane) => void;
  readonly onMessage: (message: BusMessage, link: MessageLink, lane: DeliveryLane) => BusMessageLock;
}

/** Upper bound on a lost wake-up. */
const pausedCheckMs = 60_000;
/** A service that answers "no session" sooner did not wait for one: it is not asked again at once. */
const shortestWaitMs = 500;

/** Receives from an entity with sessions: as many sessions at a time as allowed, each until it is idle. */
export class SessionReceiving implements Receiving {
  readonly #options: SessionReceivingOptions;
  readonly #links = new Set<SessionLink>();
  readonly #resumed = new WakeUp();
  /** Each serves one session after the other. */
  readonly #places = new Set<Promise<void>>();
  #workers = 1;
  #closing: AbortSignal | undefined;
  #isPaused = false;

  constructor(options: SessionReceivingOptions) {
    this.#options = options;
  }

  async run(closing: AbortSignal): Promise<void> {
    this.#closing = closing;
    this.#fillPlaces();
    while (this.#places.size > 0) await Promise.all(this.#places); // some may have been added meanwhile
  }

  scale(workers: number): void {
    this.#workers = workers;
    this.#fillPlaces();
  }

  pause(): void {
    this.#isPaused = true;
    void this.retire();
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumed.notify();
  }

  /** Sessions end when their running messages are finished: until then their locks are needed. */
  async retire(): Promise<void> {
    for (const link of this.#links) link.retire();
  }

  close(): Promise<void> {
    return this.retire();
  }

  get #mostPlaces(): number {
    return this.#workers * this.#options.options.maxConcurrentSessions;
  }

  #fillPlaces(): void {
    if (!this.#closing || this.#closing.aborted) return;
    while (this.#places.size < this.#mostPlaces) this.#addPlace(this.#closing);
  }

  #addPlace(closing: AbortSignal): void {
    const place = this.#keepServing(closing).then(() => void this.#places.delete(place));
    place.catch(() => undefined); // `run` rejects with it
    this.#places.add(place);
  }

  /** Ends when `closing` aborts, or after a session if there are more places than needed. */
  async #keepServing(closing: AbortSignal): Promise<void> {
    const attempts = new LinkAttempts(this.#options);
    while (!closing.aborted && this.#places.size <= this.#mostPlaces) {
      this.#resumed.reset();
      if (this.#isPaused) {
        await this.#resumed.wait(this.#options.clock, pausedCheckMs, closing);
        continue;
      }
      const bus = await this.#options.clients.current();
      try {
        const receiver = await this.#accept(bus, closing);
        attempts.opened();
        if (receiver) await this.#serve(receiver, closing);
      } catch (error) {
        if (!closing.aborted && failureOfBus(error) === 'unavailable') this.#options.clients.discard(bus);
        await attempts.failed(error, false, closing);
      }
    }
  }

  /** Resolves with undefined if no session has messages. */
  async #accept(bus: Bus, closing: AbortSignal): Promise<ServiceBusSessionReceiver | undefined> {
    const { options, clock } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const accepting = bus.client.acceptNextSession(options.entity.path, { ...receiveOptions, abortSignal: closing });
    try {
      return await rejectOnAbort(() => accepting, closing);
    } catch (error) {
      if (closing.aborted) {
        // It may succeed still: then the session is released.
        accepting.then(
          (receiver) => receiver.close(),
          () => undefined,
        );
        throw error;
      }
      if (isSessionTimeout(error) && clock.monotonicMs() - askedAtMs >= shortestWaitMs) return undefined;
      throw error;
    }
  }

  async #serve(receiver: ServiceBusSessionReceiver, closing: AbortSignal): Promise<void> {
    if (this.#isPaused || closing.aborted) return await receiver.close().catch(() => undefined);
    const { application, functionName, options, lockedMessages, observe, removeLane } = this.#options;
    const { isBatch, batch, maxConcurrentCallsPerSession } = options;
    const link = new SessionLink({
      ...this.#options,
      receiver,
      // None ahead of those that run: a failed message must come again before the next one.
      credits: isBatch ? batch.max : maxConcurrentCallsPerSession,
      idleMs: options.sessionIdleMs,
      maxRenewalMs: options.maxRenewalMs,
    });
    const { sessionId } = link;
    const about = { functionName, entity: options.entity.path, sessionId };
    this.#links.add(link);
    const forget = lockedMessages.addSession(application, sessionId, link);
    observe({ kind: 'service-bus.session', ...about, state: 'accepted' });
    try {
      await link.serve();
    } finally {
      forget();
      this.#links.delete(link);
      removeLane(link.lane);
    }
    observe({ kind: 'service-bus.session', ...about, state: 'released' });
  }
}
