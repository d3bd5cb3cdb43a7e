import { setMaxListeners } from 'node:events';
import type { FinalExecutionState } from '@drover/contracts';
import { headerLine, isHeaderValue, requestHead, type ClientRequest } from '@drover/http-edge';
import {
  backOffMs,
  type BackOffPolicy,
  type Clock,
  type Lifecycle,
  type Observe,
  type Randomness,
} from '@drover/service-kit';
import {
  type EndpointGuard,
  type EndpointObservation,
  type EndpointTarget,
  EndpointTargets,
} from '@drover/dispatchers';
import type { CallbackSecrets } from './callback-secrets.js';
import { originOf, type CallbackObservation } from './observations.js';
import { postResult, type PostOutcome } from './post-result.js';
import type { ResultDelivery } from './result-delivery.js';
import { signatureHeaders } from './sign-callback.js';

/**
 * - refused: the URL may not be called, or the receiver refused the result
 * - failed: every attempt failed
 * - full: too many deliveries were under way
 * - stopping: the process stops, or no longer owns the execution
 */
export type DeliveryEnd = 'delivered' | 'refused' | 'failed' | 'full' | 'stopping';

export interface ResultCallbacksOptions {
  readonly guard: EndpointGuard;
  /** The keys that sign results. */
  readonly secrets: Pick<CallbackSecrets, 'keysOf'>;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  readonly observe: Observe<CallbackObservation | EndpointObservation>;
  readonly tries?: number;
  readonly tryTimeoutMs?: number;
  readonly pause?: BackOffPolicy;
  /** Limits of deliveries that are under way, and of their bytes. A single result may exceed the bytes. */
  readonly maxWaiting?: number;
  readonly maxWaitingBytes?: number;
  /** Limit of requests to one receiver at a time, so that a slow receiver does not delay others. */
  readonly maxPerReceiver?: number;
}

/** A receiver that is down for a minute or two still gets its results. */
const defaultPause: BackOffPolicy = { firstMs: 1_000, maxMs: 60_000, factor: 4 };

const statusOf: Readonly<Record<FinalExecutionState, number>> = {
  success: 200,
  error: 500,
  timeout: 408,
  cancelled: 499,
};

/**
 * Posts results to callback URLs. A delivery is attempted a few times and then given up with an observation; the result can still be
 * read from the API. A delivery with `ownership` is not given up for lack of room or time: the outbox repeats it. A receiver may get a
 * result twice, with the same id, because its answer may have been lost.
 */
export class ResultCallbacks implements Lifecycle {
  readonly name = 'result callbacks';
  readonly #options: ResultCallbacksOptions;
  readonly #targets: EndpointTargets;
  readonly #deliveries = new Set<Promise<DeliveryEnd>>();
  readonly #stopping = new AbortController();
  /** Receivers with requests in flight, and the deliveries that wait for a place there. */
  readonly #receivers = new Map<string, { inFlight: number; readonly waiting: (() => void)[] }>();
  #bytes = 0;

  constructor(options: ResultCallbacksOptions) {
    this.#options = options;
    // Every delivery listens to it, and there may be thousands.
    setMaxListeners(0, this.#stopping.signal);
    const limits = { connectTimeoutMs: options.tryTimeoutMs ?? 10_000, maxResponseBytes: 65_536 };
    this.#targets = new EndpointTargets({ ...options, limits, maxTargets: 256 });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    while (this.#deliveries.size > 0 && !deadline.aborted) {
      let giveUp = (): void => undefined;
      const late = new Promise<void>((resolve) => {
        giveUp = () => resolve();
        deadline.addEventListener('abort', giveUp, { once: true });
      });
      await Promise.race([Promise.all(this.#deliveries), late]);
      deadline.removeEventListener('abort', giveUp);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { waiting } of this.#receivers.values()) for (const resume of waiting.splice(0)) resume();
    await Promise.all(this.#deliveries);
    await this.#targets.close();
  }

  /** Whether a result of that size would be admitted now. */
  hasRoom(bytes: number): boolean {
    const { maxWaiting = 10_000, maxWaitingBytes = 67_108_864 } = this.#options;
    return this.#deliveries.size < maxWaiting && (this.#bytes === 0 || this.#bytes + bytes <= maxWaitingBytes);
  }

  /** Resolves with the end of the delivery; never rejects. */
  deliver(delivery: ResultDelivery): Promise<DeliveryEnd> {
    const problem = this.#options.guard.quickProblemOf(delivery.url);
    if (problem !== undefined) return Promise.resolve(this.#giveUp(delivery, 'refused', problem, 0));
    if (this.#stopping.signal.aborted)
      return Promise.resolve(this.#giveUp(delivery, 'stopping', 'the platform is stopping', 0));
    const size = Buffer.byteLength(delivery.body);
    if (!this.hasRoom(size))
      return Promise.resolve(this.#giveUp(delivery, 'full', 'too many deliveries are under way', 0));
    this.#bytes += size;
    const run = this.#run(delivery).finally(() => {
      this.#bytes -= size;
      this.#deliveries.delete(run);
    });
    this.#deliveries.add(run);
    return run;
  }

  async #run(delivery: ResultDelivery): Promise<DeliveryEnd> {
    const { tries = 5, pause = defaultPause, clock, randomness, observe } = this.#options;
    const ends = delivery.ownership ? [this.#stopping.signal, delivery.ownership] : [this.#stopping.signal];
    const isOver = (): boolean => ends.some(({ aborted }) => aborted);
    const url = new URL(delivery.url);
    const request = toRequest(delivery, url);
    for (let count = 1; ; count += 1) {
      const outcome = await this.#try(delivery, url, request, isOver);
      if (outcome.kind === 'delivered') {
        const { executionId, functionName } = delivery;
        observe({ kind: 'callback.delivered', executionId, functionName, origin: url.origin, tries: count });
        return 'delivered';
      }
      if (isOver()) return this.#giveUp(delivery, 'stopping', outcome.problem, count);
      if (!outcome.retry) return this.#giveUp(delivery, 'refused', outcome.problem, count);
      if (count >= tries) return this.#giveUp(delivery, 'failed', outcome.problem, count);
      const ownMs = backOffMs(pause, count, randomness);
      const pauseMs = Math.min(pause.maxMs, Math.max(ownMs, outcome.pauseMs ?? 0));
      await pauseUnlessAborted(clock, pauseMs, ends);
      if (isOver()) return this.#giveUp(delivery, 'stopping', outcome.problem, count);
    }
  }

  async #try(delivery: ResultDelivery, url: URL, request: ClientRequest, isOver: () => boolean): Promise<PostOutcome> {
    const { clock, tryTimeoutMs = 10_000 } = this.#options;
    const { signal } = this.#stopping;
    const { tenantId } = delivery;
    const key = `${tenantId} ${url.origin}`;
    await this.#enter(key);
    try {
      const signature = await this.#signature(delivery).catch(messageOf);
      // It may have ended while the delivery waited for its place and its signature.
      if (isOver()) return { kind: 'not-delivered', problem: 'this replica no longer owns it', retry: false };
      // A receiver that verifies signatures would refuse an unsigned result, so the result waits for the keys.
      if (typeof signature === 'string') return { kind: 'not-delivered', problem: signature, retry: true };
      const target: EndpointTarget = this.#targets.targetFor(tenantId, url);
      const signed = { ...request, head: request.head + signature.lines };
      return await postResult(target, signed, { clock, timeoutMs: tryTimeoutMs, signal });
    } finally {
      this.#leave(key);
    }
  }

  /** Returns the header lines of the signature, made for each attempt: receivers refuse old timestamps. */
  async #signature({ tenantId, functionName, executionId, body }: ResultDelivery): Promise<{ readonly lines: string }> {
    const keys = await this.#options.secrets.keysOf(tenantId, functionName);
    const headers = signatureHeaders({ id: executionId, sentAt: this.#options.clock.now(), body }, keys);
    let lines = '';
    for (let index = 0; index + 1 < headers.length; index += 2)
      lines += headerLine(headers[index] ?? '', headers[index + 1] ?? '');
    return { lines };
  }

  async #enter(key: string): Promise<void> {
    const { maxPerReceiver = 8 } = this.#options;
    const receiver = this.#receivers.get(key) ?? { inFlight: 0, waiting: [] };
    this.#receivers.set(key, receiver);
    if (receiver.inFlight < maxPerReceiver) receiver.inFlight += 1;
    // A delivery that leaves passes its place on, so the number does not change.
    else await new Promise<void>((resolve) => receiver.waiting.push(resolve));
  }

  #leave(key: string): void {
    const receiver = this.#receivers.get(key);
    const next = receiver?.waiting.shift();
    if (next) return next();
    if (!receiver) return;
    receiver.inFlight -= 1;
    if (receiver.inFlight <= 0) this.#receivers.delete(key);
  }

  #giveUp(
    { executionId, functionName, url, ownership }: ResultDelivery,
    reason: Exclude<DeliveryEnd, 'delivered'>,
    problem: string,
    tries: number,
  ): DeliveryEnd {
    const { observe } = this.#options;
    const what = { executionId, functionName, origin: originOf(url), tries, problem };
    if (ownership && (reason === 'full' || reason === 'stopping'))
      observe({ kind: 'callback.postponed', ...what, reason });
    else observe({ kind: 'callback.given-up', ...what, reason });
    return reason;
  }
}

function messageOf(error: unknown): string {
  return `the keys of its signature cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}

/** The headers are those of OpenFaaS, and `x-execution-status`. */
function toRequest(delivery: ResultDelivery, url: URL): ClientRequest {
  const { executionId, functionName, status, statusCode, durationMs, body, contentType } = delivery;
  // The handler chose the type. The result is delivered even when that is not a valid header value.
  const type = isHeaderValue(contentType) ? contentType : 'application/octet-stream';
  const head =
    requestHead('POST', url) +
    headerLine('content-type', type) +
    headerLine('user-agent', 'drover') +
    headerLine('x-call-id', executionId) +
    headerLine('x-execution-id', executionId) +
    headerLine('x-execution-status', status) +
    headerLine('x-function-name', functionName) +
    headerLine('x-function-status', String(statusCode ?? statusOf[status])) +
    headerLine('x-duration-seconds', (durationMs / 1_000).toFixed(6));
  return { head, body };
}

/** Resolves after `pauseMs`, or as soon as one of the signals aborts. */
function pauseUnlessAborted(clock: Clock, pauseMs: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const resume = (): void => {
      cancel();
      for (const signal of signals) signal.removeEventListener('abort', resume);
      resolve();
    };
    const cancel = clock.after(pauseMs, resume);
    for (const signal of signals) signal.addEventListener('abort', resume, { once: true });
    if (signals.some(({ aborted }) => aborted)) resume();
  });
}
