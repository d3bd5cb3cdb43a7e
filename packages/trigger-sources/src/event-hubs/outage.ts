import type { Clock } from '@drover/service-kit';

interface OutageReport<Failure> {
  /** Called once per kind of failure. */
  readonly onBegin: (failure: Failure, error: unknown) => void;
  readonly onEnd: (afterMs: number) => void;
}

/**
 * An outage that several parts of a listener notice, reported once: when the first part fails, again when a part fails for
 * another reason, and when no part fails any more.
 */
export class Outage<Failure> {
  readonly #clock: Clock;
  readonly #report: OutageReport<Failure>;
  readonly #failing = new Map<string, Failure>();
  readonly #reported = new Set<Failure>();
  #sinceMs: number | undefined;

  constructor(clock: Clock, report: OutageReport<Failure>) {
    this.#clock = clock;
    this.#report = report;
  }

  failed(part: string, failure: Failure, error: unknown): void {
    this.#sinceMs ??= this.#clock.monotonicMs();
    this.#failing.set(part, failure);
    if (this.#reported.has(failure)) return;
    this.#reported.add(failure);
    this.#report.onBegin(failure, error);
  }

  succeeded(part: string): void {
    this.#failing.delete(part);
    if (this.#sinceMs === undefined || this.#failing.size > 0) return;
    const afterMs = this.#clock.monotonicMs() - this.#sinceMs;
    this.#sinceMs = undefined;
    this.#reported.clear();
    this.#report.onEnd(afterMs);
  }

  /** The part ended, whether it failed or not. */
  forget(part: string): void {
    this.#failing.delete(part);
  }
}
