import type { Clock } from '@drover/service-kit';

interface EpisodeReports<Failure extends string> {
  readonly failed: (failure: Failure, error: unknown) => void;
  readonly over: (afterMs: number) => void;
}

/** Reports an outage of a service once, again when its cause changes, and once when it is over. */
export class ServiceEpisode<Failure extends string> {
  readonly #clock: Clock;
  readonly #reports: EpisodeReports<Failure>;
  #current: { readonly failure: Failure; readonly sinceMs: number } | undefined;

  constructor(clock: Clock, reports: EpisodeReports<Failure>) {
    this.#clock = clock;
    this.#reports = reports;
  }

  failed(failure: Failure, error: unknown): void {
    if (this.#current?.failure === failure) return;
    this.#current = { failure, sinceMs: this.#current?.sinceMs ?? this.#clock.monotonicMs() };
    this.#reports.failed(failure, error);
  }

  succeeded(): void {
    if (!this.#current) return;
    const afterMs = this.#clock.monotonicMs() - this.#current.sinceMs;
    this.#current = undefined;
    this.#reports.over(afterMs);
  }
}
