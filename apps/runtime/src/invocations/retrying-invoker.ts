import type { RpcException } from '@drover/function-rpc';
import { sleep, type Clock, type Randomness } from '@drover/service-kit';
import { nextRetryDelayMs, retryContext } from '../bindings/retry-policy.js';
import type { InvocationCall, InvocationOutcome, Invoker } from './invocation-call.js';

/**
 * Retries failed invocations of functions with a retry policy in place, while their message is held, as the official host does.
 * Each attempt is an invocation of its own. Rejected, cancelled and permanently failed invocations are not retried.
 */
export class RetryingInvoker implements Invoker {
  readonly #inner: Invoker;
  readonly #clock: Clock;
  readonly #randomness: Randomness;
  readonly #stopping: AbortSignal;

  constructor(
    inner: Invoker,
    io: { readonly clock: Clock; readonly randomness: Randomness; readonly stopping: AbortSignal },
  ) {
    this.#inner = inner;
    this.#clock = io.clock;
    this.#randomness = io.randomness;
    this.#stopping = io.stopping;
  }

  async invoke(call: InvocationCall): Promise<InvocationOutcome> {
    const { retry: policy } = call.definition;
    if (!policy) return await this.#inner.invoke(call);
    let last: RpcException | undefined;
    for (let retries = 0; ; retries += 1) {
      const arrivedMs = retries === 0 ? call.arrivedMs : undefined;
      const outcome = await this.#inner.invoke({ ...call, arrivedMs, retry: retryContext(policy, retries, last) });
      if (outcome.kind !== 'failed' || !outcome.error.retryable || outcome.error.fault === 'caller') return outcome;
      const delayMs = nextRetryDelayMs(policy, retries, this.#randomness);
      if (delayMs === undefined || !(await this.#pause(delayMs, call.signal))) return outcome;
      last = outcome.response?.result?.exception ?? toException(outcome.error);
    }
  }

  /** Resolves with false if the call is cancelled or the runtime stops during the delay. */
  async #pause(delayMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const either = signal ? AbortSignal.any([signal, this.#stopping]) : this.#stopping;
    try {
      await sleep(this.#clock, delayMs, either);
      return true;
    } catch {
      return false;
    }
  }
}

function toException({ message }: Error): RpcException {
  return { message, stackTrace: '', source: 'drover', isUserException: false, type: '' };
}
