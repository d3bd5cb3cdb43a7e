import { setMaxListeners } from 'node:events';
import type { FinalExecutionState, TenantId } from '@drover/contracts';
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
import { tryCallback, type TryOutcome } from './callback-try.js';
import { originOf, type CallbackObservation } from './observations.js';
import { pauseUnless } from './pause.js';

/** A result on its way to whoever asked for it. */
export interface ResultDelivery {
  readonly url: string;
  readonly tenantId: TenantId;
  readonly executionId: string;
  readonly functionName: string;
  readonly status: FinalExecutionState;
  /** The HTTP status that the handler chose, if it did. */
  readonly statusCode?: number | undefined;
  readonly durationMs: number;
  readonly body: string | Buffer;
  readonly contentType: string;
  /** Of whoever keeps it and brings it again if it is not let in or not finished here. Aborts when it is taken back. */
  readonly lease?: AbortSignal;
}

/** refused: not a place to call; failed: tried often enough; full: too many waited; stopping: no time left, or taken back. */
export type DeliveryEnd = 'taken' | 'refused' | 'failed' | 'full' | 'stopping';

export interface ResultCallbacksOptions {
  readonly guard: EndpointGuard;
  readonly clock: Clock;
  readonly randomness: Pick<Randomness, 'fraction'>;
  readonly observe: Observe<CallbackObservation | EndpointObservation>;
  readonly tries?: number;
  readonly tryTimeoutMs?: number;
  readonly pause?: BackOffPolicy;
  /** Results under way at a time, and their bytes; further ones are not let in. A single one may be larger. */
  readonly maxWaiting?: number;
  readonly maxWaitingBytes?: number;
  /** Tries at a time for one receiver: a slow one keeps nobody else waiting. */
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
 * Posts results to the URLs that callers named. Each is tried a few times, and then given up and said so: it stays readable where
 * executions are. What has a lease is not given up for want of room or time: its owner brings it again. A receiver may get a
 * result twice, with the same id: its answer may have been lost.
 */
export class ResultCallbacks implements Lifecycle {
  readonly name = 'result callbacks';
  readonly #options: ResultCallbacksOptions;
  readonly #targets: EndpointTargets;
  readonly #underWay = new Set<Promise<DeliveryEnd>>();
  readonly #over = new AbortController();
  /** Receivers with tries in flight, and who waits for a place there. */
  readonly #lanes = new Map<string, { inFlight: number; readonly waiting: (() => void)[] }>();
  #bytes = 0;

  constructor(options: ResultCallbacksOptions) {
    this.#options = options;
    // Every result that waits listens to it, and there may be thousands.
    setMaxListeners(0, this.#over.signal);
    const limits = { connectTimeoutMs: options.tryTimeoutMs ?? 10_000, maxResponseBytes: 65_536 };
    this.#targets = new EndpointTargets({ ...options, limits, maxTargets: 256 });
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    while (this.#underWay.size > 0 && !deadline.aborted) {
      let giveUp = (): void => undefined;
      const late = new Promise<void>((resolve) => {
        giveUp = () => resolve();
        deadline.addEventListener('abort', giveUp, { once: true });
      });
      await Promise.race([Promise.all(this.#underWay), late]);
      deadline.removeEventListener('abort', giveUp);
    }
  }

  async stop(): Promise<void> {
    this.#over.abort();
    for (const { waiting } of this.#lanes.values()) for (const goOn of waiting.splice(0)) goOn();
    await Promise.all(this.#underWay);
    await this.#targets.close();
  }

  /** Whether a result of that size would be let in now. */
  hasRoom(bytes: number): boolean {
    const { maxWaiting = 10_000, maxWaitingBytes = 67_108_864 } = this.#options;
    return this.#underWay.size < maxWaiting && (this.#bytes === 0 || this.#bytes + bytes <= maxWaitingBytes);
  }

  /** Resolves, never rejects, with what became of it. Nobody has to wait for it. */
  deliver(delivery: ResultDelivery): Promise<DeliveryEnd> {
    const problem = this.#options.guard.quickProblemOf(delivery.url);
    if (problem !== undefined) return Promise.resolve(this.#giveUp(delivery, 'refused', problem, 0));
    if (this.#over.signal.aborted)
      return Promise.resolve(this.#giveUp(delivery, 'stopping', 'the platform is stopping', 0));
    const size = Buffer.byteLength(delivery.body);
    if (!this.hasRoom(size))
      return Promise.resolve(this.#giveUp(delivery, 'full', 'too many results wait for their receivers', 0));
    this.#bytes += size;
    const run = this.#run(delivery).finally(() => {
      this.#bytes -= size;
      this.#underWay.delete(run);
    });
    this.#underWay.add(run);
    return run;
  }

  async #run(delivery: ResultDelivery): Promise<DeliveryEnd> {
    const { tries = 5, pause = defaultPause, clock, randomness, observe } = this.#options;
    const ends = delivery.lease ? [this.#over.signal, delivery.lease] : [this.#over.signal];
    const isOver = (): boolean => ends.some(({ aborted }) => aborted);
    const url = new URL(delivery.url);
    const request = toRequest(delivery, url);
    for (let count = 1; ; count += 1) {
      const outcome = await this.#try(delivery.tenantId, url, request, isOver);
      if (outcome.kind === 'taken') {
        const { executionId, functionName } = delivery;
        observe({ kind: 'callback.delivered', executionId, functionName, origin: url.origin, tries: count });
        return 'taken';
      }
      if (isOver()) return this.#giveUp(delivery, 'stopping', outcome.problem, count);
      if (!outcome.again) return this.#giveUp(delivery, 'refused', outcome.problem, count);
      if (count >= tries) return this.#giveUp(delivery, 'failed', outcome.problem, count);
      const ownMs = backOffMs(pause, count, randomness);
      const pauseMs = Math.min(pause.maxMs, Math.max(ownMs, outcome.pauseMs ?? 0));
      await pauseUnless(clock, pauseMs, ends);
      if (isOver()) return this.#giveUp(delivery, 'stopping', outcome.problem, count);
    }
  }

  async #try(tenantId: string, url: URL, request: ClientRequest, isOver: () => boolean): Promise<TryOutcome> {
    const { clock, tryTimeoutMs = 10_000 } = this.#options;
    const { signal } = this.#over;
    const key = `${tenantId} ${url.origin}`;
    await this.#enter(key);
    try {
      // While it waited for its place.
      if (isOver()) return { kind: 'not-taken', problem: 'it is no longer for this process', again: false };
      const target: EndpointTarget = this.#targets.targetFor(tenantId, url);
      return await tryCallback(target, request, { clock, timeoutMs: tryTimeoutMs, signal });
    } finally {
      this.#leave(key);
    }
  }

  async #enter(key: string): Promise<void> {
    const { maxPerReceiver = 8 } = this.#options;
    const lane = this.#lanes.get(key) ?? { inFlight: 0, waiting: [] };
    this.#lanes.set(key, lane);
    if (lane.inFlight < maxPerReceiver) lane.inFlight += 1;
    // Whoever leaves hands its place on, so the number does not change.
    else await new Promise<void>((resolve) => lane.waiting.push(resolve));
  }

  #leave(key: string): void {
    const lane = this.#lanes.get(key);
    const next = lane?.waiting.shift();
    if (next) return next();
    if (!lane) return;
    lane.inFlight -= 1;
    if (lane.inFlight <= 0) this.#lanes.delete(key);
  }

  #giveUp(
    { executionId, functionName, url, lease }: ResultDelivery,
    reason: Exclude<DeliveryEnd, 'taken'>,
    problem: string,
    tries: number,
  ): DeliveryEnd {
    const { observe } = this.#options;
    const what = { executionId, functionName, origin: originOf(url), tries, problem };
    if (lease && (reason === 'full' || reason === 'stopping')) observe({ kind: 'callback.postponed', ...what, reason });
    else observe({ kind: 'callback.given-up', ...what, reason });
    return reason;
  }
}

/** The names are those of OpenFaaS, with one of ours. */
function toRequest(delivery: ResultDelivery, url: URL): ClientRequest {
  const { executionId, functionName, status, statusCode, durationMs, body, contentType } = delivery;
  // From a handler; what fits into no header is not worth losing the result for.
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
