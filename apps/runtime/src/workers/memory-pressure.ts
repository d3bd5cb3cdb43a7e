import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionWorkerObservation } from './worker-observations.js';

/** Where the runtime stands with its memory. */
export type Pressure = 'normal' | 'elevated' | 'critical';

interface PressureLimits {
  /** Shares of what there is. */
  readonly elevated: number;
  readonly critical: number;
  /** Intake goes on again only below this: above it, it would fill at once. */
  readonly recovered: number;
}

export const defaultPressureLimits: PressureLimits = { elevated: 0.7, critical: 0.9, recovered: 0.75 };

/** The next state: what is critical stays so until it has really recovered. */
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
  /** Share of the memory we may use that is used. */
  readonly used: () => number;
  readonly pauseIntake: () => void;
  readonly resumeIntake: () => void;
  /** Ends the workers that have been there longest, which frees what is kept for them. */
  readonly drainOldest: (count: number) => void;
}

/** How many workers are ended each time memory is found to be critical. */
const drainedAtOnce = 2;

/** Looks after the runtime's own memory: rather takes nothing more than dies with everything it has. */
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
      this.#look();
      this.#schedule();
    });
  }

  #look(): void {
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
