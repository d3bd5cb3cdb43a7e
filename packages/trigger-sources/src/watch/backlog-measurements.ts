import type { Clock } from '@drover/service-kit';
import type { Backlog, TriggerListener } from '../trigger-source.js';

interface Known {
  readonly backlog: Backlog;
  readonly atMs: number;
  /** Measurements in a row without a backlog and without activity. */
  readonly idleInARow: number;
}

const shortestMs = 1_000;
const longestMs = 10_000;

/**
 * Measures running triggers, each as often as its backlog may have changed. A listener that is idle gets what arrives at once, which
 * shows as activity: so a source without a backlog and without activity is measured at growing intervals, up to ten seconds. Two
 * hundred idle applications would ask their services two hundred times per second otherwise.
 */
export class BacklogMeasurements {
  readonly #clock: Clock;
  readonly #known = new WeakMap<TriggerListener, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rejects as `TriggerListener.measure` does; the next call asks the source again. */
  async measure(listener: TriggerListener, isActive: boolean, signal: AbortSignal): Promise<Backlog> {
    const known = this.#known.get(listener);
    const atMs = this.#clock.monotonicMs();
    if (known && !isActive && atMs - known.atMs < pauseMs(known)) return known.backlog;
    this.#known.delete(listener);
    const backlog = await listener.measure(signal);
    const isIdle = !isActive && backlog.waiting === 0;
    this.#known.set(listener, { backlog, atMs, idleInARow: isIdle ? (known?.idleInARow ?? 0) + 1 : 0 });
    return backlog;
  }
}

/** Slightly less than whole seconds: samples are taken once per second, not exactly. */
function pauseMs({ idleInARow }: Known): number {
  return idleInARow === 0 ? 0 : Math.min(longestMs, shortestMs * 2 ** (idleInARow - 1)) - shortestMs / 2;
}
