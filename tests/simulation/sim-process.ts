import type { SimClock } from '@drover/scale-controller/testing';
import type { Clock, Randomness } from '@drover/service-kit';

/** A process of the simulation: what it waits for does not come while it is stopped, and never once it is gone. */
export class SimProcess {
  readonly clock: SimClock;
  readonly name: string;
  #state: 'running' | 'frozen' | 'gone' = 'running';
  #resumed: (() => void)[] = [];

  constructor(clock: SimClock, name: string) {
    this.clock = clock;
    this.name = name;
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  get isGone(): boolean {
    return this.#state === 'gone';
  }

  /** The clock of the code that runs in this process. */
  readonly time: Clock = {
    now: () => this.clock.nowMs,
    monotonicMs: () => this.clock.nowMs,
    after: (delayMs, action) => {
      let isCancelled = false;
      this.after(delayMs, () => isCancelled || action());
      return () => {
        isCancelled = true;
      };
    },
  };

  readonly randomness: Randomness = {
    fraction: () => this.clock.fraction(),
    uuid: () => this.clock.id('uuid'),
    bytes: (count) => Buffer.alloc(count),
  };

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  after(ms: number, action: () => void): void {
    this.clock.after(ms, () => this.act(action));
  }

  /** Passes on an answer. */
  receive<T>(value: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      value.then(
        (result) => this.act(() => resolve(result)),
        (error: unknown) => this.act(() => reject(error instanceof Error ? error : new Error(String(error)))),
      );
    });
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    const resumed = this.#resumed;
    this.#resumed = [];
    for (const action of resumed) action();
  }

  kill(): void {
    this.#state = 'gone';
    this.#resumed = [];
  }

  /** Does what comes from outside: late when the process is stopped, never when it is gone. */
  act(action: () => void): void {
    if (this.#state === 'running') action();
    else if (this.#state === 'frozen') this.#resumed.push(action);
  }
}
