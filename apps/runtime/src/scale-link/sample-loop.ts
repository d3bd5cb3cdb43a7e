import type { ApplicationSample, ScaleLinkClient } from '@drover/scale-link';
import type { Clock, Lifecycle } from '@drover/service-kit';

interface SampleLoopOptions {
  readonly link: Pick<ScaleLinkClient, 'send' | 'isAttached'>;
  /** Measures the applications that are not at rest. */
  readonly sample: (signal: AbortSignal) => Promise<readonly ApplicationSample[]>;
  /** Used memory of the runtime as a fraction of its limit. */
  readonly memory: () => number;
  readonly clock: Clock;
}

const everyMs = 1_000;

/**
 * Sends a sample each second, also an empty one: the controller then knows that the runtime lives and its applications are at
 * rest. While the link is detached nothing is measured.
 */
export class SampleLoop implements Lifecycle {
  readonly name = 'samples';
  readonly #options: SampleLoopOptions;
  readonly #stopping = new AbortController();
  #cancel: (() => void) | undefined;

  constructor(options: SampleLoopOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#schedule();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** The next sample is due a second after the last one began; one that takes longer delays the next. */
  #schedule(delayMs = everyMs): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancel = this.#options.clock.after(delayMs, () => {
      const dueMs = this.#options.clock.monotonicMs() + everyMs;
      const again = (): void => this.#schedule(Math.max(0, dueMs - this.#options.clock.monotonicMs()));
      this.#send().then(again, again); // what cannot be measured is in the next sample
    });
  }

  async #send(): Promise<void> {
    const { link, sample, memory, clock } = this.#options;
    if (!link.isAttached) return;
    const applications = await sample(this.#stopping.signal);
    link.send({ kind: 'sample', atMs: clock.now(), memory: memory(), applications });
  }
}
