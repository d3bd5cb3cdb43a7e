import { BackOff, sleep, type Clock, type Randomness } from '@drover/service-kit';
import type { BusOutage } from './bus-outage.js';

/** Receives messages between start and stop, except while paused. */
export interface Receiving {
  /** Resolves after `closing` aborts. */
  run(closing: AbortSignal): Promise<void>;
  pause(): void;
  resume(): void;
  /** Receives for so many function workers. Absent where the number makes no difference. */
  scale?(workers: number): void;
  /** Returns unused credits. Resolves when no more messages come. */
  retire(): Promise<void>;
  /** Closes what is open still, whether its messages are settled or not. */
  close(): Promise<void>;
}

const failureBackOff = { firstMs: 200, maxMs: 30_000, factor: 2 };
/** A link that lasted this long worked: the next failure is a new one. */
const workedForMs = 5_000;

interface LinkAttemptsOptions {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly outage: BusOutage;
}

/** Delays between attempts to open a link: they grow from 0.2 to 30 seconds while attempts fail. */
export class LinkAttempts {
  readonly #options: LinkAttemptsOptions;
  readonly #backOff: BackOff;
  #openedAtMs: number | undefined;

  constructor(options: LinkAttemptsOptions) {
    this.#options = options;
    this.#backOff = new BackOff(failureBackOff, options);
  }

  opened(): void {
    this.#openedAtMs = this.#options.clock.monotonicMs();
    this.#options.outage.succeeded();
  }

  /** Reports a failure and waits. `hasWorked`: messages came before it. */
  async failed(cause: unknown, hasWorked: boolean, closing: AbortSignal): Promise<void> {
    if (closing.aborted) return;
    const { clock, outage } = this.#options;
    const lasted = this.#openedAtMs === undefined ? 0 : clock.monotonicMs() - this.#openedAtMs;
    this.#openedAtMs = undefined;
    if (hasWorked || lasted >= workedForMs) this.#backOff.reset();
    outage.failed(cause);
    await sleep(clock, this.#backOff.nextMs(), closing).catch(() => undefined);
  }
}
