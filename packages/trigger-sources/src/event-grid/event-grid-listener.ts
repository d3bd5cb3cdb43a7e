import { defineStates } from '@drover/contracts';
import { WakeUp, type Clock, type Observe } from '@drover/service-kit';
import { triggerBacklogUnknown } from '../errors.js';
import { rejectOnAbort, untilAborted } from '../requests.js';
import type { Backlog, Deliver, Delivery, Settlement, TriggerListener } from '../trigger-source.js';
import type { EventGridObservation } from './observations.js';
import type { PushedEvent } from './read-events.js';

/**
 * - created: not started
 * - listening: events are delivered as they arrive
 * - paused: requests wait for the end of the pause
 * - draining: requests are refused; running ones finish
 * - stopped: requests are refused
 */
export const eventGridListenerStates = defineStates('event grid listener', {
  created: ['listening', 'stopped'],
  listening: ['paused', 'draining', 'stopped'],
  paused: ['listening', 'draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

interface EventGridListenerOptions {
  readonly functionName: string;
  /** Whether the function takes all events of a request at once. */
  readonly isBatched: boolean;
  readonly deliver: Deliver;
  readonly clock: Clock;
  readonly observe: Observe<EventGridObservation>;
}

/**
 * - accepted: the function has run for all events
 * - failed: for one it failed; the sender should send all of them again
 * - rejected: for one it must not run again; the sender should not send them again
 * - unavailable: none was delivered
 */
export type PushOutcome = 'accepted' | 'failed' | 'rejected' | 'unavailable';

/** Event Grid waits 30 seconds for an answer. */
const longestPauseMs = 25_000;

/** Delivers the events that are pushed to the webhook of one function. */
export class EventGridListener implements TriggerListener {
  readonly name: string;
  /** Never resolves: there is no loop that could break. */
  readonly broken = new Promise<unknown>(() => undefined);
  readonly #options: EventGridListenerOptions;
  readonly #state;
  readonly #running = new Set<Promise<unknown>>();
  readonly #cut = new AbortController();
  /** One for each request that waits for the end of a pause. */
  readonly #waiting = new Set<WakeUp>();

  constructor(options: EventGridListenerOptions) {
    this.#options = options;
    const { functionName, observe } = options;
    this.name = `event grid trigger ${functionName}`;
    this.#state = eventGridListenerStates.start('created', ({ to }) =>
      observe({ kind: 'event-grid.listener', functionName, state: to }),
    );
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state.move('listening');
  }

  pause(): void {
    if (this.#state.is('listening')) this.#state.move('paused');
  }

  resume(): void {
    if (this.#state.is('paused')) this.#state.move('listening');
    for (const wakeUp of this.#waiting) wakeUp.notify();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) this.#state.move('draining');
    for (const wakeUp of this.#waiting) wakeUp.notify();
    await untilAborted(this.#idle(), deadline);
  }

  async stop(): Promise<void> {
    if (this.#state.is('stopped')) return;
    this.#state.move('stopped');
    this.#cut.abort(new Error('the listener was stopped'));
    for (const wakeUp of this.#waiting) wakeUp.notify();
    await this.#idle();
  }

  /** Always rejects: the sender alone knows how many events it has. */
  measure(): Promise<Backlog> {
    const reason = 'Event Grid pushes its events and does not report how many it has';
    return Promise.reject(triggerBacklogUnknown({ functionName: this.#options.functionName, reason }));
  }

  /** Delivers the events of one request. `attempt` counts the deliveries by the sender, this one included. */
  async push(events: readonly PushedEvent[], attempt: number, signal: AbortSignal): Promise<PushOutcome> {
    const { functionName, observe } = this.#options;
    observe({ kind: 'event-grid.received', functionName, events: events.length });
    if (!(await this.#untilListening(signal))) return 'unavailable';
    const deliveries = this.#options.isBatched
      ? [toDelivery(events, attempt)]
      : events.map((event) => toDelivery(event, attempt));
    const settled = Promise.all(deliveries.map((delivery) => this.#deliver(delivery)));
    this.#running.add(settled);
    try {
      const outcome = outcomeOf(await settled);
      if (outcome !== 'accepted') observe({ kind: 'event-grid.failed', functionName, outcome, attempt });
      return outcome;
    } finally {
      this.#running.delete(settled);
    }
  }

  /** Waits for the end of a pause. Resolves with false if events cannot be delivered now. */
  async #untilListening(signal: AbortSignal): Promise<boolean> {
    if (!this.#state.is('paused')) return this.#state.is('listening');
    const wakeUp = new WakeUp();
    this.#waiting.add(wakeUp);
    await wakeUp.wait(this.#options.clock, longestPauseMs, signal);
    this.#waiting.delete(wakeUp);
    return this.#state.is('listening') && !signal.aborted;
  }

  async #deliver(delivery: Delivery): Promise<Settlement> {
    const { functionName, deliver, observe } = this.#options;
    try {
      return await rejectOnAbort(() => deliver(delivery, this.#cut.signal), this.#cut.signal);
    } catch (error) {
      if (!this.#cut.signal.aborted) observe({ kind: 'event-grid.delivery-threw', functionName, error });
      return { kind: 'abandon' };
    }
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#running);
  }
}

function toDelivery(data: PushedEvent | readonly PushedEvent[], deliveryCount: number): Delivery {
  const traceparent = 'traceparent' in data ? data['traceparent'] : undefined;
  return {
    data: JSON.stringify(data),
    metadata: {},
    deliveryCount,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  };
}

function outcomeOf(settlements: readonly Settlement[]): PushOutcome {
  if (settlements.some(({ kind }) => kind === 'abandon')) return 'failed';
  return settlements.some(({ kind }) => kind === 'deadLetter') ? 'rejected' : 'accepted';
}
