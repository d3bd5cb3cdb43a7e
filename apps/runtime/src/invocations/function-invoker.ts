import { isCodedError, type CodedError } from '@drover/contracts';
import { StatusResultStatus, type InvocationRequestInit, type InvocationResponse } from '@drover/function-rpc';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { rejectionReason } from '../bindings/reject.js';
import { invocationCancelled, invocationFailed, noWorker, saturated } from '../errors.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import type { InvocationCall, InvocationOutcome, Invoker } from './invocation-call.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';
import type { InvocationRouter } from './invocation-router.js';
import type { Ending, InvocationTracker } from './invocation-tracker.js';
import type { Reservation } from './routing-policy.js';

interface FunctionInvokerOptions {
  readonly router: InvocationRouter<FunctionWorker>;
  readonly tracker: InvocationTracker;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** `functionTimeout` of host.json; Infinity for none. */
  readonly timeoutMs: number;
  readonly observe: Observe<FunctionInvocationObservation>;
  /** Called when a send fills the stream of a worker. */
  readonly onFull: (worker: FunctionWorker) => void;
}

/** Runs the functions of one job host on its workers: reserves a worker, sends the request, resolves with the outcome. */
export class FunctionInvoker implements Invoker {
  readonly #options: FunctionInvokerOptions;

  constructor(options: FunctionInvokerOptions) {
    this.#options = options;
  }

  async invoke(call: InvocationCall): Promise<InvocationOutcome> {
    const { clock, tracker, router, randomness, observe } = this.#options;
    const functionName = call.definition.name;
    if (call.signal?.aborted) return failed(randomness.uuid(), invocationCancelled({ functionName }));
    if (tracker.isFull) {
      observe({ kind: 'invocation.crowded', function: functionName, isRefused: true });
      return failed(randomness.uuid(), saturated({ functionName, limit: tracker.size }));
    }
    const startedMs = clock.monotonicMs();
    const { timeoutMs } = this.#options;
    let outcome: InvocationOutcome;
    try {
      const reservation = router.reserve() ?? (await this.#wait(call, timeoutMs));
      // The timeout starts now: time in the queue must not recycle a worker that was not slow.
      outcome = await this.#run(call, reservation, clock.monotonicMs() + timeoutMs);
    } catch (error) {
      outcome = failed(randomness.uuid(), isCodedError(error) ? error : invocationCancelled({ functionName }));
    }
    observe({
      kind: 'invocation.ended',
      function: functionName,
      invocationId: outcome.invocationId,
      outcome: outcome.kind,
      code: outcome.kind === 'failed' ? outcome.error.code : undefined,
      durationMs: clock.monotonicMs() - startedMs,
    });
    return outcome;
  }

  /** Waits in the queue, at most as long as the function may run. Throws RUNTIME_SATURATED or RUNTIME_NO_WORKER. */
  async #wait(call: InvocationCall, timeoutMs: number): Promise<Reservation<FunctionWorker>> {
    const { clock, router, observe } = this.#options;
    const functionName = call.definition.name;
    const dueMs = clock.monotonicMs() + Math.min(timeoutMs, longestWaitMs);
    const waiting = router.wait({ signal: call.signal, dueMs });
    observe({ kind: 'invocation.crowded', function: functionName, isRefused: waiting === undefined });
    if (!waiting) throw saturated({ functionName, limit: router.waiting });
    const reservation = await waiting;
    if (reservation) return reservation;
    throw call.signal?.aborted ? invocationCancelled({ functionName }) : noWorker({ functionName });
  }

  #run(call: InvocationCall, reservation: Reservation<FunctionWorker>, dueMs: number): Promise<InvocationOutcome> {
    const { clock, tracker, observe } = this.#options;
    const { worker } = reservation;
    const invocationId = tracker.newId();
    let request: InvocationRequestInit;
    try {
      request = toRequest(call, invocationId, worker);
    } catch (error) {
      reservation.release();
      throw isCodedError(error) ? error : inputsFailed(call, error);
    }
    return new Promise((resolve) => {
      const cancel = (): void => {
        if (worker.can('HandlesInvocationCancelMessage'))
          worker.send({ kind: 'invocationCancel', value: { invocationId } });
        tracker.fail(invocationId, invocationCancelled({ functionName: call.definition.name }));
      };
      tracker.track({
        id: invocationId,
        workerId: worker.id,
        functionName: call.definition.name,
        startedMs: clock.monotonicMs(),
        dueMs,
        end(ending) {
          call.signal?.removeEventListener('abort', cancel);
          reservation.release();
          resolve(toOutcome(call, invocationId, ending));
        },
      });
      call.signal?.addEventListener('abort', cancel, { once: true });
      call.onAssigned?.({ invocationId, workerId: worker.id, capabilities: worker.capabilities });
      observe({ kind: 'invocation.routed', function: call.definition.name, invocationId, workerId: worker.id });
      try {
        if (!worker.send({ kind: 'invocationRequest', value: request })) this.#options.onFull(worker);
      } catch (error) {
        tracker.fail(invocationId, inputsFailed(call, error));
      }
    });
  }
}

/** A call that waits this long fails: its caller can do better with an error than with more waiting. */
const longestWaitMs = 120_000;

function toRequest(call: InvocationCall, invocationId: string, worker: FunctionWorker): InvocationRequestInit {
  const { inputData, triggerMetadata } = call.inputs(worker.capabilities);
  return {
    invocationId,
    functionId: call.definition.id,
    inputData,
    triggerMetadata,
    traceContext: call.trace,
    retryContext: call.retry,
  };
}

function toOutcome(call: InvocationCall, invocationId: string, ending: Ending): InvocationOutcome {
  if ('error' in ending) return failed(invocationId, ending.error);
  const { response } = ending;
  // Success is 1 in the protocol: a response without a status is a failure.
  if (response.result?.status === StatusResultStatus.Success) return { kind: 'succeeded', invocationId, response };
  const reason = rejectionReason(response.result?.exception);
  if (reason !== undefined) return { kind: 'rejected', invocationId, reason, response };
  return { kind: 'failed', invocationId, error: failureOf(call, response), response };
}

function failureOf(call: InvocationCall, { result }: InvocationResponse): CodedError {
  const functionName = call.definition.name;
  if (result?.status === StatusResultStatus.Cancelled) return invocationCancelled({ functionName });
  const { type = '', message = '' } = result?.exception ?? {};
  return invocationFailed({ functionName, type, text: message || result?.result || 'the worker gave no reason' });
}

function inputsFailed(call: InvocationCall, error: unknown): CodedError {
  const text = error instanceof Error ? error.message : String(error);
  return invocationFailed({ functionName: call.definition.name, type: 'BindingError', text }, error);
}

function failed(invocationId: string, error: CodedError): InvocationOutcome {
  return { kind: 'failed', invocationId, error };
}
