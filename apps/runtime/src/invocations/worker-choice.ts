import type { CodedError } from '@drover/contracts';
import type { Clock, Observe } from '@drover/service-kit';
import {
  functionNotLoaded,
  functionRefused,
  invocationCancelled,
  messagePoison,
  noWorker,
  saturated,
} from '../errors.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { CrashSuspects } from './crash-suspects.js';
import type { InvocationCall } from './invocation-call.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';
import { longestWaitMs, type InvocationRouter } from './invocation-router.js';
import type { Reservation } from './routing-policy.js';

/** A worker that was chosen for a call. */
export interface ChosenWorker extends Reservation<FunctionWorker> {
  /** The call runs alone, to find out whether it ends its worker. */
  readonly isProbe?: true;
}

interface WorkerChoiceOptions {
  readonly router: InvocationRouter<FunctionWorker>;
  /** The router of isolated workers. */
  readonly isolated: InvocationRouter<FunctionWorker>;
  readonly suspects: CrashSuspects;
  /** Returns why workers end before one is ready; undefined if they do not. */
  readonly failure: () => string | undefined;
  /** Called when a call has to wait for a worker. */
  readonly onWaiting?: (() => void) | undefined;
  readonly clock: Clock;
  readonly observe: Observe<FunctionInvocationObservation>;
}

/** While workers compute, calls wait for their turn: a worker that had taken them all would let them wait as well. */
const longestTurnMs = 1_800_000;
/** A message waits longer for its turn in isolation: its source would count another delivery. */
const longestIsolationMs = 600_000;

/** Chooses workers for calls: any free one, unless a worker refused to load the function or the call may end its worker. */
export class WorkerChoice {
  readonly #options: WorkerChoiceOptions;
  /** Calls that wait for the end of an isolated run of their function. */
  #waiting = 0;

  constructor(options: WorkerChoiceOptions) {
    this.#options = options;
  }

  /** Reserves a worker without waiting; undefined if `choose` has to decide. The caller must call `release`. */
  reserve(call: InvocationCall): ChosenWorker | undefined {
    const { suspects, router } = this.#options;
    return suspects.isEmpty ? this.#unlessRefused(call, router.reserve()) : undefined;
  }

  /**
   * Waits for a worker, at most as long as the function may run. Throws the error of a call that gets none. The caller must
   * call `release`.
   */
  async choose(call: InvocationCall, timeoutMs: number): Promise<ChosenWorker> {
    const { suspects, router, clock } = this.#options;
    const dueMs = clock.monotonicMs() + Math.min(timeoutMs, router.isPaced ? longestTurnMs : longestWaitMs);
    if (suspects.isEmpty) {
      const reservation = await this.#enqueue(router, call, dueMs, undefined);
      const chosen = this.#unlessRefused(call, reservation ?? this.#giveUp(call));
      if (chosen && suspects.isEmpty) return chosen;
      chosen?.release();
    }
    return await this.#judge(call, timeoutMs, dueMs);
  }

  async #judge(call: InvocationCall, timeoutMs: number, dueMs: number): Promise<ChosenWorker> {
    const { suspects } = this.#options;
    const functionName = call.definition.name;
    for (;;) {
      if (call.signal?.aborted) throw invocationCancelled({ functionName });
      const verdict = suspects.judge(call);
      switch (verdict.kind) {
        case 'clear': {
          const chosen = await this.#chooseOrdinary(call, dueMs);
          // While it waited, a crash may have made it a suspect.
          if (suspects.judge(call).kind === 'clear') return chosen;
          chosen.release();
          break;
        }
        case 'isolate':
          return await this.#isolate(call, timeoutMs);
        case 'wait':
          await this.#waitFor(verdict.until, call);
          break;
        case 'refuse':
          throw functionRefused({ functionName, crashes: verdict.crashes, retryAfterMs: verdict.retryAfterMs });
        case 'poison':
          throw messagePoison({ functionName, crashes: verdict.crashes });
      }
    }
  }

  async #chooseOrdinary(call: InvocationCall, dueMs: number): Promise<ChosenWorker> {
    const { router } = this.#options;
    for (;;) {
      const accepts = this.#acceptsOf(call);
      const reservation = router.reserve(accepts) ?? (await this.#enqueue(router, call, dueMs, accepts));
      const chosen = this.#unlessRefused(call, reservation ?? this.#giveUp(call));
      if (chosen) return chosen; // otherwise a worker that refuses it became ready meanwhile
    }
  }

  /** Returns the filter of workers for a call; undefined if none refuses it. Throws if all do. */
  #acceptsOf({ definition: { id, name } }: InvocationCall): ((worker: FunctionWorker) => boolean) | undefined {
    const { router } = this.#options;
    let reason: string | undefined;
    let isAccepted = false;
    for (const worker of router.workers()) {
      const refusal = worker.refusalOf(id);
      if (refusal === undefined) isAccepted = true;
      else reason = refusal;
    }
    if (reason === undefined) return undefined;
    if (!isAccepted) throw functionNotLoaded({ functionName: name, reason });
    return (worker) => worker.refusalOf(id) === undefined;
  }

  #unlessRefused(call: InvocationCall, chosen: ChosenWorker | undefined): ChosenWorker | undefined {
    if (chosen === undefined || chosen.worker.refusalOf(call.definition.id) === undefined) return chosen;
    chosen.release();
    return undefined;
  }

  async #isolate(call: InvocationCall, timeoutMs: number): Promise<ChosenWorker> {
    const { suspects, isolated, router, clock } = this.#options;
    const isIsolated = suspects.begin(call);
    const waitMs = call.messageId === undefined ? Math.min(timeoutMs, longestWaitMs) : longestIsolationMs;
    const target = isIsolated ? isolated : router;
    try {
      const reservation =
        target.reserve() ?? (await this.#enqueue(target, call, clock.monotonicMs() + waitMs, undefined));
      const slot = reservation ?? this.#giveUp(call);
      const release = (): void => {
        suspects.end(call);
        slot.release();
      };
      return { worker: slot.worker, release, isProbe: true };
    } catch (error) {
      suspects.end(call);
      throw error;
    }
  }

  /** Queues a call. Throws RUNTIME_SATURATED if the queue is full; resolves with undefined at the deadline. */
  #enqueue(
    router: InvocationRouter<FunctionWorker>,
    call: InvocationCall,
    dueMs: number,
    accepts: ((worker: FunctionWorker) => boolean) | undefined,
  ): Promise<Reservation<FunctionWorker> | undefined> {
    const functionName = call.definition.name;
    // A worker that computes is no missing worker: how many are needed is decided by what waits.
    if (!router.isPaced) this.#options.onWaiting?.();
    this.#checkFailure(functionName);
    const waiting = router.wait({ signal: call.signal, dueMs, accepts });
    this.#options.observe({ kind: 'invocation.crowded', function: functionName, isRefused: waiting === undefined });
    if (!waiting) throw saturated({ functionName, limit: router.waiting });
    return waiting;
  }

  /** Throws RUNTIME_NO_WORKER if waiting is hopeless: no worker is there, and each new one ends at its start. */
  #checkFailure(functionName: string): void {
    const { router, failure } = this.#options;
    const reason = router.size === 0 ? failure() : undefined;
    if (reason !== undefined) throw noWorker({ functionName, reason });
  }

  #giveUp({ definition, signal }: InvocationCall): never {
    const functionName = definition.name;
    throw signal?.aborted ? invocationCancelled({ functionName }) : noWorker({ functionName });
  }

  async #waitFor(until: Promise<void>, call: InvocationCall): Promise<void> {
    const { maxWaiting } = this.#options.router;
    if (this.#waiting >= maxWaiting) throw this.#crowded(call, maxWaiting);
    this.#waiting += 1;
    try {
      await Promise.race([until, abortedBy(call.signal)]);
    } finally {
      this.#waiting -= 1;
    }
  }

  #crowded({ definition }: InvocationCall, limit: number): CodedError {
    this.#options.observe({ kind: 'invocation.crowded', function: definition.name, isRefused: true });
    return saturated({ functionName: definition.name, limit });
  }
}

/** Resolves when the signal aborts. */
function abortedBy(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    else signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}
