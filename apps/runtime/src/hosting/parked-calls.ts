import { isCodedError, type CodedError } from '@drover/contracts';
import type { Clock, Randomness } from '@drover/service-kit';
import { jobHostFailed, saturated } from '../errors.js';
import type { InvocationCall, InvocationOutcome, Invoker } from '../invocations/invocation-call.js';
import type { JobHostActivation } from './job-host-activation.js';

interface ParkedCallsOptions {
  readonly activation: Pick<JobHostActivation, 'current' | 'open'>;
  /** Calls that may wait for the job host to open; more are refused. */
  readonly maxWaiting: number;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'uuid'>;
  /** Called when a call finds no job host: none of its workers is ready. */
  readonly onWaiting: () => void;
}

/**
 * Invokes functions of an application that may be parked. While its job host is open, calls go straight to it. Otherwise they open
 * it: the wait for its files takes milliseconds and is bounded in number, the wait for a worker is bounded in the job host.
 */
export class ParkedCalls implements Invoker {
  readonly #options: ParkedCallsOptions;
  readonly #onIdle = new Set<() => void>();
  #waiting = 0;
  #running = 0;

  constructor(options: ParkedCallsOptions) {
    this.#options = options;
  }

  /** Calls that wait for the job host to open. */
  get waiting(): number {
    return this.#waiting;
  }

  /** All calls that have not ended. */
  get running(): number {
    return this.#running;
  }

  async invoke(call: InvocationCall): Promise<InvocationOutcome> {
    this.#running += 1;
    try {
      const { current } = this.#options.activation;
      return await (current ? current.invoker.invoke(call) : this.#openFor(call));
    } finally {
      this.#running -= 1;
      if (this.#running === 0) for (const settle of this.#onIdle) settle();
    }
  }

  /** Resolves when no call runs, or when the signal aborts. */
  idle(deadline: AbortSignal): Promise<void> {
    if (this.#running === 0 || deadline.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        deadline.removeEventListener('abort', settle);
        this.#onIdle.delete(settle);
        resolve();
      };
      this.#onIdle.add(settle);
      deadline.addEventListener('abort', settle, { once: true });
    });
  }

  async #openFor(call: InvocationCall): Promise<InvocationOutcome> {
    const { activation, maxWaiting, clock, onWaiting } = this.#options;
    const arrivedMs = clock.monotonicMs();
    const functionName = call.definition.name;
    if (this.#waiting >= maxWaiting) return this.#refuse(saturated({ functionName, limit: this.#waiting }));
    this.#waiting += 1;
    onWaiting();
    let invoker: Invoker;
    try {
      ({ invoker } = await activation.open());
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return this.#refuse(isCodedError(error) ? error : jobHostFailed({ jobHost: functionName, text }, error));
    } finally {
      this.#waiting -= 1;
    }
    return await invoker.invoke({ ...call, arrivedMs });
  }

  #refuse(error: CodedError): InvocationOutcome {
    return { kind: 'failed', invocationId: this.#options.randomness.uuid(), error };
  }
}
