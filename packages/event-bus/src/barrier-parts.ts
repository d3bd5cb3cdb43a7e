import { deadlineAfter, type Clock } from '@drover/service-kit';
import type { BarrierParticipant, BarrierSubject } from './event-bus.js';
import type { EventDelivery } from './event-delivery.js';

/** A barrier as a process that has to pass it sees it. */
export interface BarrierRequest {
  /** All events up to here have to be handled. */
  readonly position: number;
  readonly withinMs: number;
  readonly about?: BarrierSubject | undefined;
}

/** What one process waits for before it says that a change holds here: its subscriptions, then its participants. */
export class BarrierParts {
  readonly #clock: Clock;
  readonly #participants: BarrierParticipant[] = [];
  /** Those without a name: each is the way by which this process learns of changes. */
  readonly #deliveries = new Set<EventDelivery>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  addParticipant(participant: BarrierParticipant): void {
    this.#participants.push(participant);
  }

  add(delivery: EventDelivery): void {
    this.#deliveries.add(delivery);
  }

  remove(delivery: EventDelivery): void {
    this.#deliveries.delete(delivery);
  }

  /** Returns what this process still waits for after `withinMs`; an empty list if the changes hold here. */
  async pass({ position, withinMs, about }: BarrierRequest): Promise<readonly string[]> {
    const deadline = deadlineAfter(this.#clock, withinMs);
    const { signal } = deadline;
    try {
      await Promise.all([...this.#deliveries].map((delivery) => delivery.reached(position, signal)));
      if (signal.aborted) return ['its subscriptions, which are behind'];
      const answers = await Promise.all(this.#participants.map((participant) => agreed(participant, about, signal)));
      return answers.filter((problem) => problem !== undefined);
    } finally {
      deadline.cancel();
    }
  }
}

async function agreed(
  participant: BarrierParticipant,
  about: BarrierSubject | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await participant(about, signal);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
