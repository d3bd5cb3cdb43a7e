import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionWorkerObservation } from './worker-observations.js';

export type Pressure = 'normal' | 'elevated' | 'critical';

interface PressureLimits {
  /** Fractions of the memory limit. */
  readonly elevated: number;
  readonly critical: number;
  /** Critical pressure ends only below this fraction, so that intake does not flap. */
  readonly recovered: number;
}

export const defaultPressureLimits: PressureLimits = { elevated: 0.7, critical: 0.9, recovered: 0.75 };

/** Returns the next pressure for the used fraction. Critical pressure lasts until use falls below `recovered`. */
export function nextPressure(before: Pressure, used: number, limits: PressureLimits): Pressure {
  if (used >= limits.critical) return 'critical';
  if (before === 'critical' && used >= limits.recovered) return 'critical';
  return used >= limits.elevated ? 'elevated' : 'normal';
}

interface MemoryGuardOptions {
  readonly clock: Clock;
  readonly observe: Observe<FunctionWorkerObservation>;
  readonly everyMs: number;
  readonly limits: PressureLimits;
  /** Used memory as a fraction of the limit. */
  readonly used: () => number;
  readonly pauseIntake: () => void;
  readonly resumeIntake: () => void;
  /** Retires the workers that connected first, which frees their buffers. */
  readonly drainOldest: (count: number) => void;
}

/** Workers to retire at each check while memory is critical. */
const drainedAtOnce = 2;

/** Watches the memory of the runtime and stops intake before the process runs out of it. */
export class MemoryGuard implements Lifecycle {
  readonly name = 'memory guard';
  readonly #options: MemoryGuardOptions;
  #pressure: Pressure = 'normal';
  #cancel: (() => void) | undefined;

  constructor(options: MemoryGuardOptions) {
    this.#options = options;
  }

  get pressure(): Pressure {
    return this.#pressure;
  }

  async start(): Promise<void> {
    this.#schedule();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    const { clock, everyMs } = this.#options;
    this.#cancel = clock.after(everyMs, () => {
      this.#check();
      this.#schedule();
    });
  }

  #check(): void {
    const { used, limits, observe, pauseIntake, resumeIntake, drainOldest } = this.#options;
    const share = used();
    const before = this.#pressure;
    this.#pressure = nextPressure(before, share, limits);
    if (this.#pressure !== before) observe({ kind: 'memory.pressure', from: before, to: this.#pressure, used: share });
    if (this.#pressure === 'critical') {
      if (before !== 'critical') pauseIntake();
      drainOldest(drainedAtOnce);
    } else if (before === 'critical') resumeIntake();
  }
}
