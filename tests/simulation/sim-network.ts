import type { NewEvent, PublishedEvent } from '@drover/contracts';
import type { EventBus } from '@drover/event-bus';
import type { SimClock } from '@drover/scale-controller/testing';
import type { SimControlPlane, SimPlaneParts } from './sim-control-plane.js';
import type { SimProcess } from './sim-process.js';

/** How often things go wrong. */
export interface SimWeather {
  readonly lostCalls: number;
  readonly repeatedCalls: number;
  readonly lostEvents: number;
  readonly repeatedEvents: number;
  /** Longest delay of an event and of a repeated call. */
  readonly delayMs: number;
}

interface Subscriber {
  readonly process: SimProcess;
  readonly names: ReadonlySet<string>;
  readonly handle: (event: PublishedEvent) => void;
}

export class SimCallFailed extends Error {}

const callTimeoutMs = 5_000;
const retryMs = 500;

/** Calls of workers to control planes, and the event bus. */
export class SimNetwork {
  readonly #clock: SimClock;
  #subscribers: Subscriber[] = [];
  weather: SimWeather;
  #position = 0;

  constructor(clock: SimClock, weather: SimWeather) {
    this.#clock = clock;
    this.weather = weather;
  }

  /** The bus as one process sees it. Events of a transaction exist once it commits. */
  busOf(process: SimProcess): Pick<EventBus, 'publish' | 'subscribe' | 'lastPosition'> {
    return {
      publish: (events, tx) => {
        if (tx) tx.afterCommit(() => this.#deliver(events));
        else this.#deliver(events);
        return Promise.resolve();
      },
      subscribe: ({ topics, handle }) => {
        const names = new Set(topics.map(({ name }) => name));
        const deliver = async (event: PublishedEvent): Promise<void> => {
          try {
            await handle(event);
          } catch {
            process.after(retryMs, () => void deliver(event)); // the bus delivers it until it is handled
          }
        };
        this.#subscribers.push({ process, names, handle: (event) => void deliver(event) });
        return Promise.resolve({ position: 0, close: () => Promise.resolve() });
      },
      lastPosition: () => Promise.resolve(this.#position),
    };
  }

  /** Calls a control plane: the request or the answer may be lost, and the request may come a second time, much later. */
  call<T>(from: SimProcess, to: SimControlPlane, action: (parts: SimPlaneParts) => Promise<T>): Promise<T> {
    const { lostCalls, repeatedCalls, delayMs } = this.weather;
    const clock = this.#clock;
    const answer = new Promise<T>((resolve, reject) => {
      let isAnswered = false;
      clock.after(callTimeoutMs, () => isAnswered || reject(new SimCallFailed('no answer')));
      if (clock.chance(repeatedCalls))
        clock.after(clock.between(1, delayMs), () => void to.serve(action).catch(() => undefined));
      if (clock.chance(lostCalls)) return;
      clock.after(clock.latency(), () => {
        const back = (deliver: () => void): void => {
          if (clock.chance(lostCalls)) return;
          isAnswered = true;
          clock.after(clock.latency(), deliver);
        };
        to.serve(action).then(
          (result) => back(() => resolve(result)),
          (error: Error) => back(() => reject(error)),
        );
      });
    });
    return from.receive(answer);
  }

  #deliver(events: readonly NewEvent[]): void {
    const { lostEvents, repeatedEvents, delayMs } = this.weather;
    for (const { topic, ...event } of events) {
      this.#position += 1;
      const published: PublishedEvent = {
        ...event,
        topic: topic.name,
        position: this.#position,
        publishedAt: new Date(this.#clock.nowMs),
      };
      this.#subscribers = this.#subscribers.filter(({ process }) => !process.isGone);
      for (const { process, names, handle } of this.#subscribers) {
        if (!names.has(topic.name)) continue;
        const deliver = (): void => process.act(() => handle(published));
        if (!this.#clock.chance(lostEvents)) this.#clock.after(this.#clock.latency(), deliver);
        if (this.#clock.chance(repeatedEvents)) this.#clock.after(this.#clock.between(0, delayMs), deliver);
      }
    }
  }
}
