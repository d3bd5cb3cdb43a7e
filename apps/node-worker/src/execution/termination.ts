import type { Clock } from '@drover/service-kit';
import type { AppSlot } from '../loading/app-slot.js';
import { AppTerminateContext } from '../loading/hook-contexts.js';
import { runHooks } from '../loading/hooks.js';
import type { SystemLog } from '../logs/system-log.js';
import { settleWithin } from '../settle-within.js';
import type { InFlight } from './in-flight.js';

/** How the grace period is divided. */
interface TerminationPlan {
  /** How long invocations may run before they are cancelled. */
  readonly finishMs: number;
  /** When the process must be ready to exit, including hooks. */
  readonly totalMs: number;
}

/** Reserves a quarter of the grace period, at most 2 s, for hooks, and up to 250 ms to send the last messages. */
function planTermination(graceMs: number): TerminationPlan {
  const totalMs = Math.max(0, graceMs - Math.min(250, graceMs / 10));
  return { totalMs, finishMs: Math.max(0, totalMs - Math.min(2_000, graceMs / 4)) };
}

export interface TerminationParts {
  readonly inFlight: InFlight;
  readonly apps: AppSlot;
  readonly systemLog: SystemLog;
  readonly clock: Clock;
  /** Ends the stream and the process. */
  readonly end: () => void;
}

/** Shuts the worker down: rejects new invocations, drains or cancels running ones, runs appTerminate hooks, ends. */
export class Termination {
  readonly #parts: TerminationParts;
  #hasBegun = false;

  constructor(parts: TerminationParts) {
    this.#parts = parts;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Begins the shutdown. Later calls do nothing. */
  begin(graceMs: number): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.#run(planTermination(graceMs));
  }

  async #run({ finishMs, totalMs }: TerminationPlan): Promise<void> {
    const { inFlight, systemLog, clock, end } = this.#parts;
    const startedMs = clock.monotonicMs();
    const leftMs = (): number => Math.max(0, totalMs - (clock.monotonicMs() - startedMs));
    try {
      await settleWithin(clock, finishMs, inFlight.idle());
      if (inFlight.size > 0) {
        systemLog(
          'warning',
          `Terminating with ${inFlight.size} invocations in flight: ${describe(inFlight.byFunction)}.`,
        );
        inFlight.cancelAll('The worker is terminating.');
        await settleWithin(clock, leftMs() / 2, inFlight.idle());
      }
      await settleWithin(clock, leftMs(), this.#runHooks());
    } catch (error) {
      systemLog('error', `An appTerminate hook failed: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      end();
    }
  }

  async #runHooks(): Promise<void> {
    const { hooks, appLevelHookData, appHookData } = this.#parts.apps.current;
    await runHooks(hooks.appTerminate, new AppTerminateContext(appLevelHookData, appHookData));
  }
}

function describe(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} (${count})`)
    .join(', ');
}
