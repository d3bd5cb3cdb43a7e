import { isCodedError, type CodedError } from '@drover/contracts';
import { StatusResultStatus, type InvocationRequestInit, type InvocationResponse } from '@drover/function-rpc';
import { continueTrace, type Clock, type Observe, type Randomness } from '@drover/service-kit';
import type { WorkerCapabilities } from '../bindings/invocation-inputs.js';
import { rejectionReason } from '../bindings/reject.js';
import { invocationCancelled, invocationFailed, saturated } from '../errors.js';
import type { FunctionWorker } from '../workers/function-worker.js';
import { explainWait, isColdStart } from './cold-start.js';
import type { CrashSuspects } from './crash-suspects.js';
import type { InvocationAssignment, InvocationCall, InvocationOutcome, Invoker } from './invocation-call.js';
import type { FunctionInvocationObservation } from './invocation-observations.js';
import type { InvocationMeter } from './invocation-meter.js';
import type { Ending, InvocationTracker } from './invocation-tracker.js';
import type { PacedCalls } from './paced-calls.js';
import type { ChosenWorker, WorkerChoice } from './worker-choice.js';
import { exceptionText } from './worker-log.js';

interface FunctionInvokerOptions {
  readonly choice: Pick<WorkerChoice, 'reserve' | 'choose'>;
  readonly suspects: CrashSuspects;
  readonly tracker: InvocationTracker;
  readonly paced: PacedCalls;
  /** Undefined: the load of the application is not measured. */
  readonly meter?: InvocationMeter | undefined;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** `functionTimeout` of host.json; Infinity for none. */
  readonly timeoutMs: number;
  readonly observe: Observe<FunctionInvocationObservation>;
  /** Called when a send fills the stream of a worker. */
  readonly onFull: (worker: FunctionWorker) => void;
}

/**
 * Runs the functions of one job host on its workers: reserves a worker, sends the request, has the call finished, which writes
 * its outputs, and resolves with the outcome. What is logged and measured is that outcome.
 */
export class FunctionInvoker implements Invoker {
  readonly #options: FunctionInvokerOptions;

  constructor(options: FunctionInvokerOptions) {
    this.#options = options;
  }

  async invoke(call: InvocationCall): Promise<InvocationOutcome> {
    const { clock, tracker, choice, randomness, observe } = this.#options;
    const functionName = call.definition.name;
    if (call.signal?.aborted) return failed(randomness.uuid(), invocationCancelled({ functionName }));
    if (tracker.isFull) {
      observe({ kind: 'invocation.crowded', function: functionName, isRefused: true });
      return failed(randomness.uuid(), saturated({ functionName, limit: tracker.size }));
    }
    const startedMs = call.arrivedMs ?? clock.monotonicMs();
    const { timeoutMs, meter } = this.#options;
    meter?.arrive();
    let outcome: InvocationOutcome;
    try {
      const free = choice.reserve(call);
      const chosen = free ?? (await choice.choose(call, timeoutMs));
      // The timeout starts now: time in the queue must not recycle a worker that was not slow.
      const chosenMs = clock.monotonicMs();
      outcome = await this.#run(call, chosen, chosenMs + timeoutMs);
      const serviceMs = clock.monotonicMs() - chosenMs;
      if (call.finish && outcome.kind === 'succeeded') outcome = await call.finish(outcome);
      this.#measure(chosen.worker, serviceMs, outcome);
      if (!free || call.arrivedMs !== undefined)
        outcome = this.#explain(call, chosen.worker, { arrivedMs: startedMs, chosenMs }, outcome);
    } catch (error) {
      outcome = failed(randomness.uuid(), isCodedError(error) ? error : invocationCancelled({ functionName }));
    }
    this.#reportException(functionName, outcome);
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

  /** Adds to the outcome where the time of a call went that had to wait for a worker. */
  #explain(
    { definition: { name }, trace: { traceParent } }: InvocationCall,
    { start }: FunctionWorker,
    { arrivedMs, chosenMs }: { readonly arrivedMs: number; readonly chosenMs: number },
    outcome: InvocationOutcome,
  ): InvocationOutcome {
    const { clock, observe, randomness } = this.#options;
    const coldStartMs = explainWait({ arrivedMs, chosenMs, endedMs: clock.monotonicMs() }, start);
    observe({
      kind: 'invocation.waited',
      function: name,
      invocationId: outcome.invocationId,
      isColdStart: isColdStart(coldStartMs),
      waitedMs: chosenMs - arrivedMs,
      stepsMs: coldStartMs,
      trace: traceParent ? continueTrace(traceParent, randomness) : undefined,
      endedAt: clock.now(),
      isFailed: outcome.kind === 'failed',
    });
    return { ...outcome, coldStartMs };
  }

  #measure({ codeVersion }: FunctionWorker, serviceMs: number, outcome: InvocationOutcome): void {
    // A caller that left is no failure of the version.
    this.#options.meter?.record(codeVersion, serviceMs, outcome.kind === 'failed' && outcome.error.status !== 499);
  }

  /** A function that was cancelled and stopped has not failed. */
  #reportException(functionName: string, outcome: InvocationOutcome): void {
    if (outcome.kind === 'succeeded') return;
    const { invocationId, response } = outcome;
    const { exception, status } = response?.result ?? {};
    if (!exception || status === StatusResultStatus.Cancelled) return;
    this.#options.observe({
      kind: 'invocation.threw',
      function: functionName,
      invocationId,
      exception: exceptionText(exception),
    });
  }

  #run(call: InvocationCall, chosen: ChosenWorker, dueMs: number): Promise<InvocationOutcome> {
    const { clock, tracker, paced, observe, suspects } = this.#options;
    const { worker } = chosen;
    const invocationId = tracker.newId();
    let request: InvocationRequestInit;
    try {
      request = toRequest(call, invocationId, worker);
    } catch (error) {
      chosen.release();
      throw isCodedError(error) ? error : inputsFailed(call, error);
    }
    const startedMs = clock.monotonicMs();
    let sent: number | undefined;
    return new Promise((resolve) => {
      // The function is told and runs to its end: its slot stays taken, and its outputs are written.
      const cancel = (): void => {
        if (worker.can('HandlesInvocationCancelMessage'))
          worker.send({ kind: 'invocationCancel', value: { invocationId } });
      };
      tracker.track({
        id: invocationId,
        workerId: worker.id,
        functionName: call.definition.name,
        startedMs,
        dueMs: worker.isDebugged ? Number.POSITIVE_INFINITY : dueMs,
        end(ending) {
          call.signal?.removeEventListener('abort', cancel);
          if ('response' in ending) {
            if (chosen.isProbe) suspects.recordAnswer(call);
          } else if (ending.isCrash) suspects.recordCrash(call, worker, chosen.isProbe === true);
          paced.ended(worker, sent, 'response' in ending ? clock.monotonicMs() - startedMs : undefined);
          chosen.release();
          resolve(toOutcome(call, invocationId, ending));
        },
      });
      call.signal?.addEventListener('abort', cancel, { once: true });
      call.onAssigned?.(new Assignment(invocationId, worker, tracker));
      observe({ kind: 'invocation.routed', function: call.definition.name, invocationId, workerId: worker.id });
      try {
        const isFull = !worker.send({ kind: 'invocationRequest', value: request });
        sent = paced.sent(worker, startedMs);
        if (isFull) this.#options.onFull(worker);
      } catch (error) {
        tracker.fail(invocationId, inputsFailed(call, error));
      }
    });
  }
}

class Assignment implements InvocationAssignment {
  readonly invocationId: string;
  readonly workerId: string;
  readonly capabilities: WorkerCapabilities;
  readonly #tracker: InvocationTracker;

  constructor(invocationId: string, worker: FunctionWorker, tracker: InvocationTracker) {
    this.invocationId = invocationId;
    this.workerId = worker.id;
    this.capabilities = worker.capabilities;
    this.#tracker = tracker;
  }

  abandon(error: CodedError): void {
    this.#tracker.fail(this.invocationId, error);
  }
}

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
