import { BackOff, sleep, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import { rejectOnAbort } from '../requests.js';
import type { Deliver, Settlement } from '../trigger-source.js';
import type { TimerObservation } from './observations.js';

interface TimerRunOptions {
  readonly functionName: string;
  /** The payload. */
  readonly data: string;
  /** When it runs, for the metadata. */
  readonly at: string;
  readonly deliver: Deliver;
  /** Aborts when no new delivery may start. */
  readonly closing: AbortSignal;
  /** The run is over when one of them aborts. */
  readonly ends: readonly AbortSignal[];
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<TimerObservation>;
}

const maxDeliveries = 5;
const redelivery = { firstMs: 1_000, maxMs: 30_000, factor: 2 };

/**
 * One occurrence of a timer. A function that failed has had its run, as in the official host: its retry policy repeats it, or the
 * next occurrence. An occurrence that no function worker finished is delivered again.
 */
export class TimerRun {
  readonly #options: TimerRunOptions;

  constructor(options: TimerRunOptions) {
    this.#options = options;
  }

  /** Resolves with true when the function has run, with false if it was interrupted. */
  async finish(): Promise<boolean> {
    const { functionName, ends, closing, clock, observe } = this.#options;
    const lost = new AbortController();
    const end = (): void => lost.abort(new Error('the timer runs elsewhere, or its listener was stopped'));
    for (const signal of ends) signal.addEventListener('abort', end, { once: true });
    if (ends.some(({ aborted }) => aborted)) end();
    const backOff = new BackOff(redelivery, this.#options);
    try {
      for (let deliveryCount = 1; ; deliveryCount += 1) {
        const settlement = await this.#deliver(deliveryCount, lost.signal);
        if (!isUnfinished(settlement) || deliveryCount === maxDeliveries) return true;
        await sleep(clock, backOff.nextMs(), closing);
        observe({ kind: 'timer.redelivered', functionName, deliveryCount: deliveryCount + 1 });
      }
    } catch {
      return false; // one of the signals
    } finally {
      for (const signal of ends) signal.removeEventListener('abort', end);
    }
  }

  async #deliver(deliveryCount: number, lost: AbortSignal): Promise<Settlement> {
    const { functionName, data, at, deliver, observe } = this.#options;
    const delivery = { data, metadata: { TimerTrigger: at }, deliveryCount, traceparent: undefined };
    try {
      return await rejectOnAbort(() => deliver(delivery, lost), lost);
    } catch (error) {
      if (lost.aborted) throw error;
      observe({ kind: 'timer.delivery-threw', functionName, error });
      return { kind: 'abandon' };
    }
  }
}

/** The first delay of failed functions, for `PreparedTrigger`: by it, their settlement differs from that of a failed platform. */
export const failedFunctionBackOffMs = 1;

/** A failure of the platform is abandoned without a delay. */
function isUnfinished(settlement: Settlement): boolean {
  return settlement.kind === 'abandon' && settlement.delayMs === undefined;
}
