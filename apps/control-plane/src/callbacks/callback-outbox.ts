import { setMaxListeners } from 'node:events';
import { type AcceptedCall, isDurable } from '@drover/contracts';
import type { ExecutionOutcome, FinishedExecution, PendingCallback, PendingCallbacks } from '@drover/execution-store';
import { allPartitions, type FencingTokens, type OwnershipListener, partitionOfExecution } from '@drover/ownership';
import { deadlineAfter, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import { originOf, type CallbackObservation } from './observations.js';
import type { DeliveryEnd, ResultCallbacks } from './result-callbacks.js';
import { decidePending, toResultDelivery, type ResultDelivery } from './result-delivery.js';

export interface CallbackOutboxOptions {
  readonly callbacks: Pick<ResultCallbacks, 'deliver' | 'hasRoom'>;
  /** Absent when no result outlives the process: each is delivered once it is there, and never again. */
  readonly pending: PendingCallbacks | undefined;
  readonly fencingTokens: FencingTokens;
  readonly clock: Clock;
  readonly observe: Observe<CallbackObservation>;
}

interface Delivery {
  readonly partition: number;
  /** Resolves when the pending callback is removed, or when the delivery is left to a later scan. */
  readonly done: Promise<void>;
}

/** A scan is complete unless it left pending callbacks for the next one. */
interface Scan {
  results: number;
  isComplete: boolean;
}

/** Interval of scans when nothing is known to wait. */
const scanEveryMs = 30_000;
/** Delay of the next scan when there was no room for all, or the database was away. */
const scanAgainMs = 5_000;
const pageSize = 1_000;
/** Limits of the executions that are read together. */
const batchLimits = { results: 100, bytes: 4_194_304 };
/** How long a release waits for requests that are under way, so that the next owner does not repeat them. */
const lastRequestsMs = 500;

/**
 * Delivers results to callback URLs across restarts and moves of partitions. The rules:
 *
 * - The end of an execution with a callback URL and its pending callback are one transaction. The pending callback is removed once the
 *   result is delivered or given up for good; after any other end of a delivery it stays.
 * - The owner of a partition delivers its pending callbacks: those of executions that end here at once, the others when a scan finds
 *   them. There is a scan after every acquisition and at intervals, so nothing depends on memory.
 * - A delivery is in `#deliveries` until its pending callback is removed, so this process does not start it twice. Two processes may
 *   while a partition moves: a receiver may get a result twice, with the same id.
 * - When a partition is released or lost, deliveries that wait for another attempt end. A request that was sent is followed to its
 *   answer: if the result was delivered, the pending callback is removed; otherwise the next owner delivers it.
 */
export class CallbackOutbox implements OwnershipListener, Lifecycle {
  readonly name = 'callback outbox';
  readonly #options: CallbackOutboxOptions;
  readonly #deliveries = new Map<string, Delivery>();
  /** By partition. Deliveries go on until the controller aborts. */
  readonly #ownerships = new Map<number, AbortController>();
  /** Partitions that are being released, though this replica may still hold their tokens. */
  readonly #released = new Set<number>();
  /** Pending callbacks that were removed during a scan, which may have read them before. */
  readonly #removed = new Set<string>();
  #cancelScan: () => void = () => undefined;
  #nextScanMs = Infinity;
  #scanning: Promise<void> | undefined;
  #lastScanFailed = false;
  #isEnding = false;

  constructor(options: CallbackOutboxOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  /** Drains after `ResultCallbacks`: what is left are pending callbacks to remove, and deliveries that could not finish. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#end();
    await allDone([...this.#deliveries.values()], deadline);
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#scanning;
  }

  async acquired(partitions: readonly number[]): Promise<void> {
    for (const partition of partitions) this.#released.delete(partition);
    if (this.#options.pending) this.#scanWithin(0);
  }

  async releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void> {
    this.lost(partitions);
    const last = [...this.#deliveries.values()].filter(({ partition }) => partitions.includes(partition));
    if (last.length === 0) return;
    const limit = deadlineAfter(this.#options.clock, lastRequestsMs, deadline);
    await allDone(last, limit.signal);
    limit.cancel();
  }

  lost(partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#released.add(partition);
      this.#ownerships.get(partition)?.abort();
      this.#ownerships.delete(partition);
    }
  }

  /** Delivers the result of an execution that has ended, durably if the execution is durable. */
  post(accepted: AcceptedCall, callbackUrl: string, outcome: ExecutionOutcome): void {
    const { pending, callbacks } = this.#options;
    const { executionId } = accepted;
    if (!pending || !isDurable(accepted)) {
      void callbacks.deliver(toResultDelivery(accepted, callbackUrl, outcome));
      return;
    }
    // A scan may have started it already. If this replica is no longer the owner, the next owner finds the pending callback.
    const ownership = this.#ownershipOf(partitionOfExecution(executionId));
    if (ownership && !this.#deliveries.has(executionId))
      this.#deliver(toResultDelivery(accepted, callbackUrl, outcome), pending, ownership);
  }

  #ownershipOf(partition: number): AbortSignal | undefined {
    if (this.#released.has(partition) || this.#options.fencingTokens.heldTokenOf(partition) === undefined)
      return undefined;
    const known = this.#ownerships.get(partition);
    if (known) return known.signal;
    const ownership = new AbortController();
    setMaxListeners(0, ownership.signal); // every delivery of the partition listens to it
    this.#ownerships.set(partition, ownership);
    return ownership.signal;
  }

  #deliver(delivery: ResultDelivery, pending: PendingCallbacks, ownership: AbortSignal): void {
    const { executionId, tenantId } = delivery;
    const partition = partitionOfExecution(executionId);
    const key = { executionId, tenantId };
    // The closures hold the key only, so that the body is freed while the removal waits.
    const done = this.#options.callbacks.deliver({ ...delivery, ownership }).then((end) => {
      if (isFinal(end, ownership)) return this.#remove(key, pending);
      this.#deliveries.delete(executionId);
      // The partition may have been acquired again in the meantime.
      if (end === 'full' || this.#ownershipOf(partition)) this.#scanWithin(scanAgainMs);
      return undefined;
    });
    this.#deliveries.set(executionId, { partition, done });
  }

  async #remove(key: Pick<PendingCallback, 'tenantId' | 'executionId'>, pending: PendingCallbacks): Promise<void> {
    const { executionId } = key;
    try {
      await pending.remove(key);
    } catch (error) {
      // It stays in `#deliveries`, so that this process does not deliver it again.
      if (!this.#isEnding) this.#options.observe({ kind: 'callback.not-removed', executionId, error });
      return;
    }
    this.#deliveries.delete(executionId);
    if (this.#scanning) this.#removed.add(executionId);
  }

  /** Schedules a scan within `delayMs`, unless one is due earlier. */
  #scanWithin(delayMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.monotonicMs() + delayMs;
    if (this.#isEnding || this.#nextScanMs <= atMs) return;
    this.#cancelScan();
    this.#nextScanMs = atMs;
    this.#cancelScan = clock.after(delayMs, () => {
      this.#nextScanMs = Infinity;
      // A scan that is under way may have passed what this one is for.
      void (this.#scanning ?? Promise.resolve()).then(() => this.#scan());
    });
  }

  #scan(): void {
    if (this.#isEnding || this.#scanning) return;
    this.#scanning = this.#scanNow().finally(() => {
      this.#scanning = undefined;
      this.#removed.clear();
    });
  }

  async #scanNow(): Promise<void> {
    const { pending, observe } = this.#options;
    if (!pending) return;
    const scan: Scan = { results: 0, isComplete: true };
    try {
      await this.#scanPages(pending, scan);
      this.#lastScanFailed = false;
    } catch (error) {
      scan.isComplete = false;
      if (!this.#lastScanFailed && !this.#isEnding) observe({ kind: 'callback.scan-failed', error });
      this.#lastScanFailed = true;
    }
    if (scan.results > 0) observe({ kind: 'callback.resumed', results: scan.results });
    this.#scanWithin(scan.isComplete ? scanEveryMs : scanAgainMs);
  }

  async #scanPages(pending: PendingCallbacks, scan: Scan): Promise<void> {
    const { callbacks } = this.#options;
    let after: string | undefined;
    while (!this.#isEnding && callbacks.hasRoom(0)) {
      const owned = allPartitions.filter((partition) => this.#ownershipOf(partition) !== undefined);
      const page = owned.length === 0 ? [] : await pending.list(owned, after, pageSize);
      for (const batch of toBatches(page.filter((one) => !this.#isKnown(one)))) {
        // A large result waits for room while smaller ones behind it are delivered.
        const fitting = batch.filter(({ bytes }) => callbacks.hasRoom(bytes));
        if (fitting.length < batch.length) scan.isComplete = false;
        scan.results += this.#resume(fitting, await pending.read(fitting), pending);
      }
      if (page.length < pageSize) return;
      after = page.at(-1)?.executionId;
    }
    scan.isComplete = false;
  }

  /** Returns the number of deliveries that it starts. */
  #resume(
    batch: readonly PendingCallback[],
    finished: readonly FinishedExecution[],
    pending: PendingCallbacks,
  ): number {
    const { clock, observe } = this.#options;
    const byId = new Map(finished.map((execution) => [execution.accepted.executionId, execution]));
    let results = 0;
    for (const one of batch) {
      const { executionId, partition } = one;
      const ownership = this.#ownershipOf(partition);
      if (!ownership || this.#isKnown(one)) continue;
      const execution = byId.get(executionId);
      const decision = decidePending(one, execution, clock.now());
      if (decision.kind === 'deliver') {
        this.#deliver(decision.delivery, pending, ownership);
        results += 1;
        continue;
      }
      const { functionName = '(unknown)', callbackUrl } = execution?.accepted ?? {};
      const fields = { executionId, functionName, origin: originOf(callbackUrl), tries: 0, problem: decision.problem };
      observe({ kind: 'callback.given-up', ...fields, reason: 'expired' });
      this.#deliveries.set(executionId, { partition, done: this.#remove(one, pending) });
    }
    return results;
  }

  #isKnown({ executionId }: PendingCallback): boolean {
    return this.#deliveries.has(executionId) || this.#removed.has(executionId);
  }

  #end(): void {
    this.#isEnding = true;
    this.#cancelScan();
  }
}

/** Whether the pending callback can be removed. A delivered result is delivered, even if another replica owns the partition now. */
function isFinal(end: DeliveryEnd, ownership: AbortSignal): boolean {
  if (end === 'full' || end === 'stopping') return false;
  return end === 'delivered' || !ownership.aborted;
}

function toBatches(pending: readonly PendingCallback[]): PendingCallback[][] {
  const batches: PendingCallback[][] = [];
  let batch: PendingCallback[] = [];
  let leftBytes = 0;
  for (const one of pending) {
    if (batch.length === 0 || batch.length >= batchLimits.results || one.bytes > leftBytes) {
      batch = [];
      batches.push(batch);
      leftBytes = batchLimits.bytes;
    }
    batch.push(one);
    leftBytes -= one.bytes;
  }
  return batches;
}

/** Resolves when all deliveries are done, or when the deadline aborts. */
function allDone(deliveries: readonly Delivery[], deadline: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (deadline.aborted) return resolve();
    deadline.addEventListener('abort', () => resolve(), { once: true });
    void Promise.all(deliveries.map(({ done }) => done)).then(() => resolve());
    return undefined;
  });
}
