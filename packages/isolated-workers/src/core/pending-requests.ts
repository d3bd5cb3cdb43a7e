import type { CrashFacts } from '../types/errors.js';
import type { Middleware } from '../types/messages.js';
import { kind, type RequestExtra, type ToHost } from '../types/wire-message.js';
import { onAbort } from './abort-listeners.js';
import { blame, type Blame } from './blame.js';
import { workerCrashed } from './crash-report.js';
import { IdMap } from './id-map.js';
import type { LiveWorker } from './live-worker.js';
import { applyMiddleware } from './middleware.js';
import type { PendingRequest, RequestCallbacks } from './pending-request.js';
import type { RequestCounts } from './duration-counts.js';
import { RequestQueue } from './request-queue.js';
import { SlicedRejections, sliceSize } from './sliced-rejections.js';
import { StuckWatch } from './stuck-watch.js';
import { fromErrorData } from './wire/error-data.js';

export interface PendingRequestsOptions {
  readonly middleware: readonly Middleware[];
  /** Requests that may be sent and unanswered at once. */
  readonly maxConcurrent: number;
  readonly times: RequestCounts;
  /** How long a worker may take to acknowledge a cancellation. 0: no limit. */
  readonly acknowledgeMs: number;
  /** The event loop of the worker is blocked by a request whose caller gave up. */
  readonly onStuck: () => void;
  /** No request is pending any more. */
  readonly onEmpty: () => void;
}

/** A settled request whose handler may still run. */
interface AbandonedRequest {
  readonly request: PendingRequest;
  readonly callbacks: RequestCallbacks;
}

/** The requests of a worker that died. */
interface LostRequests extends Blame {
  readonly abandoned: readonly AbandonedRequest[];
}

/**
 * The requests of one worker, across restarts. Each unsettled request is in exactly one of these collections:
 *
 * - `#waiting`: not sent. Leaves when the worker is ready and has room.
 * - `#sent`: numbered and handed to the worker, or to the middleware before it. Leaves with the answer.
 * - `#finishing`: answered, and in the incoming middleware.
 * - `#probation`: suspected of having killed a worker, with attempts left. Sent one at a time with nothing beside it
 *   (`#onTrial`), so that a request which kills its worker is found out and the others are answered.
 * - `#doomed`: about to be rejected, a slice of them in each turn of the event loop.
 *
 * A request whose caller gave up is settled, but stays in `#givenUp` until the worker has answered it: if the worker dies
 * first, this request may be the cause, and no other request is to blame.
 */
export class PendingRequests {
  readonly #options: PendingRequestsOptions;
  readonly #waiting = new RequestQueue<PendingRequest>();
  readonly #probation = new RequestQueue<PendingRequest>();
  readonly #doomed = new SlicedRejections<PendingRequest>((request, error) => request.reject(error));
  readonly #sent = new IdMap<PendingRequest>();
  readonly #givenUp = new Map<number, AbandonedRequest>();
  readonly #finishing = new Set<PendingRequest>();
  readonly #stuck: StuckWatch;
  /** The worker that requests go to. Undefined while none is ready. */
  #worker: LiveWorker | undefined;
  #nextId = 1;
  #onTrial = false;
  /** True while `#pump` runs. Requests that settle meanwhile must not start it again: one call for each would overflow the stack. */
  #isPumping = false;
  /** Set while further requests are sent in the next turn. */
  #resume: NodeJS.Immediate | undefined;
  #whenEmpty: (() => void)[] = [];

  constructor(options: PendingRequestsOptions) {
    this.#options = options;
    const { acknowledgeMs: limitMs, onStuck } = options;
    this.#stuck = new StuckWatch({ limitMs, onStuck, mayComputeBefore: (id) => this.#mayComputeBefore(id) });
  }

  get size(): number {
    return this.#waiting.length + this.#probation.length + this.#sent.size + this.#finishing.size + this.#doomed.size;
  }

  /** True while a worker has requests to answer. */
  get hasSent(): boolean {
    return this.#sent.size > 0;
  }

  add(request: PendingRequest, nowMs: number): void {
    // Most requests do not wait, and a place in the queue would be an allocation.
    if (this.#waiting.length === 0 && this.#probation.length === 0 && !this.#isPumping && this.#hasRoom)
      return this.#transmit(request, nowMs);
    this.#waiting.push(request);
    this.#pump();
  }

  /** Sends requests to this worker from now on, beginning with those that wait. */
  assignTo(worker: LiveWorker): void {
    this.#worker = worker;
    this.#pump();
  }

  /** Sends nothing until the next `assignTo`. */
  hold(): void {
    this.#worker = undefined;
    this.#stuck.clear();
  }

  /** Allows the worker to send `items` more items of a stream. */
  grant(request: PendingRequest, items: number): void {
    if (request.wireId !== 0 && !request.settled) this.#worker?.send([kind.credit, request.wireId, items]);
  }

  /** Rejects a request whose caller gave up, and aborts the signal of its handler. */
  abandon(request: PendingRequest, reason: unknown): void {
    const { callbacks } = request;
    if (!callbacks) return;
    if (request.delivered && this.#worker?.isReady) {
      this.#givenUp.set(request.wireId, { request, callbacks });
      this.#worker.send([kind.cancel, request.wireId]);
      this.#stuck.cancelled(request.wireId, this.#nextId);
      callbacks.onAbandoned?.();
    }
    request.reject(reason);
  }

  /** True when no request that was sent before this one waits for an answer. */
  isOldest(request: PendingRequest): boolean {
    return (this.#sent.first ?? request.wireId) >= request.wireId;
  }

  /** Handles a message about a request. */
  receive(message: ToHost): void {
    const id = message[1] as number;
    const request = this.#sent.get(id);
    if (!request) {
      // Settled before: it timed out or its caller gave up.
      const { callbacks } = this.#givenUp.get(id) ?? {};
      if (message[0] !== kind.cancelled && message[0] !== kind.result && message[0] !== kind.error) return;
      this.#stuck.acknowledged(id);
      if (message[0] === kind.cancelled) return callbacks?.onCancelAcknowledged?.();
      this.#givenUp.delete(id);
      return callbacks?.onHandlerEnded?.();
    }
    switch (message[0]) {
      case kind.result:
        return this.#resolve(request, message[2]);
      case kind.error:
        return request.reject(fromErrorData(message[2]));
      case kind.progress:
        return this.#progress(request, message[2]);
      case kind.item:
        return request.item(message[2]);
      default:
        return undefined;
    }
  }

  /** Removes a request that is settled. One function for all requests: a closure for each would cost an allocation. */
  readonly remove = (request: PendingRequest): void => {
    if (request.wireId !== 0) {
      this.#sent.delete(request.wireId);
      if (request.delivered) this.#options.times.run.record(performance.now() - request.sentMs);
    } else if (this.#waiting.remove(request) || this.#probation.remove(request))
      this.#options.times.wait.record(performance.now() - request.waitsSinceMs);
    else if (!this.#doomed.remove(request)) this.#finishing.delete(request);
    if (this.#onTrial && this.#sent.size === 0) this.#onTrial = false;
    if (this.#waiting.length > 0 || this.#probation.length > 0) this.#pump();
    if (this.size > 0) return;
    this.#options.onEmpty();
    if (this.#whenEmpty.length > 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  };

  /** Resolves when no request is pending, or when the deadline aborts. */
  empty(deadline?: AbortSignal): Promise<void> {
    if (this.size === 0 || deadline?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        ignoreDeadline?.();
        removeFrom(this.#whenEmpty, finish);
        resolve();
      };
      this.#whenEmpty.push(finish);
      const ignoreDeadline = deadline && onAbort(deadline, finish);
    });
  }

  /**
   * Takes all requests back from a dead worker and splits them into suspects and bystanders. Requests that their callers
   * gave up count as suspects, although they are settled.
   */
  takeBack(worker: LiveWorker): LostRequests {
    const abandoned = [...this.#givenUp.values()];
    const sent = this.#sent.toSorted();
    const delivered = [...abandoned.map(({ request }) => request), ...sent]
      .filter((request) => request.delivered)
      .toSorted((one, other) => one.wireId - other.wireId);
    const undelivered = sent.filter((request) => !request.delivered);
    const { suspects, bystanders } = blame(delivered, (id) => worker.connection.hadStarted(id));
    this.#sent.clear();
    this.#givenUp.clear();
    this.#onTrial = false;
    const [lost, free] = partition(bystanders, ({ transfer }) => transfer !== undefined && transfer.length > 0);
    const again = [...free, ...undelivered].filter((request) => !request.settled);
    const nowMs = performance.now();
    for (const request of [...suspects, ...lost, ...again]) {
      request.detach();
      request.waitsSinceMs = nowMs;
      request.suspendLimit();
    }
    // Transferred buffers are gone with the worker, whether it had started the request or not.
    return { suspects: [...suspects, ...lost], bystanders: again, abandoned };
  }

  /**
   * Queues bystanders again at no cost to them; rejects suspects, or puts them on probation while attempts are left. Returns
   * how many suspects run again.
   */
  requeue({ suspects, bystanders, abandoned }: LostRequests, facts: CrashFacts): number {
    for (const request of bystanders.toReversed()) this.#waiting.putBack(request);
    const doomed = suspects.filter((request) => !this.#hasAnotherAttempt(request));
    this.#doomed.add(doomed, ({ type: messageType, attempt, maxAttempts }) => {
      return workerCrashed(facts, { messageType, attempt, maxAttempts });
    });
    for (const { callbacks } of abandoned) callbacks.onHandlerEnded?.();
    return suspects.length - doomed.length;
  }

  rejectAll(makeError: () => Error): void {
    const sent = this.#sent.toSorted();
    for (const request of sent) request.detach();
    const all = [...sent, ...this.#finishing, ...this.#probation.takeAll(), ...this.#waiting.takeAll()];
    this.#sent.clear();
    this.#finishing.clear();
    this.#doomed.add(all, makeError);
  }

  /** Sends what may be sent: one request from probation alone, otherwise all that wait, a slice of them in each turn. */
  #pump(): void {
    if (this.#isPumping || this.#resume) return;
    this.#isPumping = true;
    let sent = 0;
    const nowMs = performance.now();
    for (let next = this.#takeNext(); next; next = this.#takeNext()) {
      this.#transmit(next, nowMs);
      sent += 1;
      if (sent < sliceSize) continue;
      this.#resume = setImmediate(this.#resumePump);
      break;
    }
    this.#isPumping = false;
  }

  readonly #resumePump = (): void => {
    this.#resume = undefined;
    this.#pump();
  };

  get #hasRoom(): boolean {
    return this.#worker !== undefined && !this.#onTrial && this.#sent.size < this.#options.maxConcurrent;
  }

  /** Returns the request that may be sent now, if any. */
  #takeNext(): PendingRequest | undefined {
    if (!this.#hasRoom) return undefined;
    if (this.#probation.length === 0) return this.#waiting.shift();
    if (this.#sent.size > 0) return undefined;
    this.#onTrial = true;
    return this.#probation.shift();
  }

  #transmit(request: PendingRequest, nowMs: number): void {
    const { middleware } = this.#options;
    request.resumeLimit();
    this.#number(request);
    if (middleware.length === 0) return this.#put(request, request.payload, nowMs);
    const { type, tx, wireId } = request;
    applyMiddleware(middleware, { direction: 'outgoing', type, tx, value: request.payload }).then(
      (payload) => {
        if (request.wireId !== wireId || request.settled) return;
        // Blame relies on numbers that grow in the order of the wire, and the middleware of a later request may be faster.
        this.#sent.delete(wireId);
        this.#number(request);
        this.#put(request, payload, performance.now());
      },
      (error: unknown) => {
        if (request.wireId === wireId) request.reject(error);
      },
    );
  }

  #number(request: PendingRequest): void {
    request.wireId = this.#nextId++;
    this.#sent.add(request.wireId, request);
  }

  #put(request: PendingRequest, payload: unknown, nowMs: number): void {
    const { wireId, type, attempt, traceparent = null, credit, transfer } = request;
    try {
      const extra: RequestExtra | 0 =
        attempt === 1 && traceparent === null && credit === 0 ? 0 : [attempt, traceparent, credit];
      if (payload === undefined) this.#worker?.send([kind.request, wireId, type, extra]);
      else this.#worker?.send([kind.request, wireId, type, extra, payload], transfer);
      request.delivered = true;
      request.sentMs = nowMs;
      this.#options.times.wait.record(nowMs - request.waitsSinceMs);
    } catch (error) {
      request.reject(error);
    }
  }

  /** True when the worker may be computing a request that has its caller and was sent before the one with the id `next`. */
  #mayComputeBefore(next: number): boolean {
    for (const { wireId, delivered } of this.#sent.toSorted()) {
      if (wireId >= next) return false; // in the order of the wire
      if (!delivered) continue;
      const isOldest = [...this.#givenUp.keys()].every((id) => id > wireId);
      // The oldest request of all may run without an entry in the journal. A worker starts requests in order, so one that has
      // not started proves the same of all later ones.
      return isOldest || this.#worker?.connection.hadStarted(wireId) !== false;
    }
    return false;
  }

  /** An `onProgress` callback that throws fails its request. */
  #progress(request: PendingRequest, value: unknown): void {
    try {
      request.progress(value);
    } catch (error) {
      this.abandon(request, error);
    }
  }

  #resolve(request: PendingRequest, value: unknown): void {
    const { middleware } = this.#options;
    if (middleware.length === 0) return request.resolve(value);
    const { type, tx } = request;
    this.#sent.delete(request.wireId);
    this.#options.times.run.record(performance.now() - request.sentMs);
    request.detach();
    this.#finishing.add(request);
    applyMiddleware(middleware.toReversed(), { direction: 'incoming', type, tx, value }).then(
      (changed) => request.resolve(changed),
      (error: unknown) => request.reject(error),
    );
  }

  /** Puts a suspect on probation while attempts are left. Streams have one attempt. */
  #hasAnotherAttempt(request: PendingRequest): boolean {
    if (request.settled || request.attempt >= request.maxAttempts || request.credit > 0) return false;
    request.attempt += 1;
    this.#probation.push(request);
    return true;
  }
}

function removeFrom<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}

function partition<T>(list: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [list.filter(test), list.filter((item) => !test(item))];
}
