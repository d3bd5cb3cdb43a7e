import { sleep, type Clock, type Lifecycle, type PartHealth } from '@drover/service-kit';
import type { CollectionEndpoint } from './collection-endpoint.js';

export interface EndpointProbeOptions {
  /** Returns the workers that routes name now. */
  readonly endpoints: () => readonly Pick<CollectionEndpoint, 'id' | 'heardMs' | 'answers'>[];
  readonly clock: Clock;
}

const everyMs = 2_000;
/** While one does not answer, so that its return is noticed soon. */
const retryMs = 500;
/** A worker answers without PostgreSQL, so one that takes longer is frozen, cut off or overloaded. */
const answerWithinMs = 2_000;

/**
 * Asks the workers of collections every two seconds whether they live, unless they have just answered a request. Requests alone would
 * not tell: readiness is asked before the first one.
 */
export class EndpointProbe implements Lifecycle {
  readonly name = 'endpoint probe';
  readonly #options: EndpointProbeOptions;
  readonly #closing = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #silent: readonly string[] = [];
  #isServed = true;

  constructor(options: EndpointProbeOptions) {
    this.#options = options;
  }

  /** Not ready if no worker of a collection answers. Without collections there is nothing to serve. */
  health(): PartHealth {
    const problems = this.#silent.map((id) => [`collection worker ${id}`, 'it does not answer'] as const);
    return { isReady: this.#isServed, problems: Object.fromEntries(problems) };
  }

  async start(): Promise<void> {
    this.#done = this.#run();
  }

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#closing.abort(new Error('The probe was stopped.'));
    await this.#done;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await sleep(clock, this.#silent.length === 0 ? everyMs : retryMs, signal).catch(() => undefined);
      if (!signal.aborted) await this.#ask();
    }
  }

  async #ask(): Promise<void> {
    const { endpoints, clock } = this.#options;
    const asked = endpoints();
    const sinceMs = clock.monotonicMs() - everyMs;
    const silent = await Promise.all(
      asked.map(async (endpoint) => {
        const isThere = endpoint.heardMs > sinceMs || (await endpoint.answers(answerWithinMs).catch(() => false));
        return isThere ? [] : [endpoint.id];
      }),
    );
    this.#silent = silent.flat();
    this.#isServed = asked.length === 0 || this.#silent.length < asked.length;
  }
}
