import type { Clock, Observe } from '@drover/service-kit';
import type { QueueObservation } from './observations.js';
import type { QueueFailure } from './storage-queue.js';

/** Observes an outage of a queue once, again when its cause changes, and once when it is over. */
export class ServiceEpisode {
  readonly #place: { readonly functionName: string; readonly queue: string };
  readonly #clock: Clock;
  readonly #observe: Observe<QueueObservation>;
  #current: { readonly failure: QueueFailure; readonly sinceMs: number } | undefined;

  constructor(
    place: { readonly functionName: string; readonly queue: string },
    io: { readonly clock: Clock; readonly observe: Observe<QueueObservation> },
  ) {
    this.#place = place;
    this.#clock = io.clock;
    this.#observe = io.observe;
  }

  failed(failure: QueueFailure, error: unknown): void {
    if (this.#current?.failure === failure) return;
    this.#current = { failure, sinceMs: this.#current?.sinceMs ?? this.#clock.monotonicMs() };
    if (failure === 'queue-missing') this.#observe({ kind: 'queue.missing', ...this.#place });
    else this.#observe({ kind: 'queue.unavailable', ...this.#place, failure, error });
  }

  succeeded(): void {
    if (!this.#current) return;
    const afterMs = this.#clock.monotonicMs() - this.#current.sinceMs;
    this.#current = undefined;
    this.#observe({ kind: 'queue.available', ...this.#place, afterMs });
  }
}
