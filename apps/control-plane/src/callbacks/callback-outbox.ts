import { setMaxListeners } from 'node:events';
import { deadlineAfter, type Clock, type Lifecycle, type Observe } from '@drover/service-kit';
import { type FencingTokens, type OwnershipListener, partitionCount, partitionOfExecution } from '@drover/ownership';
import type { PendingCallback, PendingCallbacks, FinishedExecution, ExecutionOutcome } from '@drover/execution-store';
import { type AcceptedCall, isDurable } from '@drover/contracts';
import { toDueCallback } from './due-callback.js';
import { originOf, type CallbackObservation } from './observations.js';
import type { DeliveryEnd, ResultCallbacks, ResultDelivery } from './result-callbacks.js';
import { toDelivery } from './to-delivery.js';

export interface CallbackOutboxOptions {
  readonly callbacks: Pick<ResultCallbacks, 'deliver' | 'hasRoom'>;
  /** Absent where nothing outlives the process: results are delivered, and that is all. */
  readonly marks: PendingCallbacks | undefined;
  readonly fencingTokens: FencingTokens;
  readonly clock: Clock;
  readonly observe: Observe<CallbackObservation>;
}

interface UnderWay {
  readonly partition: number;
  readonly done: Promise<void>;
}

/** What a look came to: complete unless something was left where it is. */
interface Look {
  results: number;
  isComplete: boolean;
}

/** When nothing is known to wait: a look at an empty table. */
const lookMs = 30_000;
/** When there was no room for all, or the database was away. */
const lookAgainMs = 5_000;
const marksAtOnce = 1_000;
/** Executions that are read together. */
const batchLimits = { marks: 100, bytes: 4_194_304 };
/** What a handover waits for tries that are under way, so that the next home does not make them again. */
const lastTriesMs = 500;

/**
 * Sees to it that results reach the URLs that callers named, across restarts and moves. The rules:
 *
 * - The end of an execution with such a URL and its mark are one transaction. The mark is removed once the result was taken or
 *   was given up for good; whatever else happens to a delivery, the mark stays.
 * - Whoever is the home delivers what is marked in its partitions: what ends here at once, the rest as it is found by a look.
 *   There is a look after every gain of partitions and from time to time, so nothing depends on what memory holds.
 * - What is under way is in `#underWay` until its mark is gone, and is not taken up twice by this process. Two processes may
 *   do so for a moment while a home moves: receivers may get a result twice, with the same id.
 * - A home that is left or lost lets go of what waits for another try. What it has sent it has sent: if that was taken, the mark
 *   goes; that it was not is for the next home to find out.
 */
export class CallbackOutbox implements OwnershipListener, Lifecycle {
  readonly name = 'callback outbox';
  readonly #options: CallbackOutboxOptions;
  readonly #underWay = new Map<string, UnderWay>();
  /** By partition: deliveries go on until these abort. */
  readonly #leases = new Map<number, AbortController>();
  /** Partitions that are on their way elsewhere, though they may still be ours. */
  readonly #letGo = new Set<number>();
  /** Whose marks went while a look was under way, which may still have seen them. */
  readonly #removed = new Set<string>();
  #cancelLook: () => void = () => undefined;
  #nextLookMs = Infinity;
  #looking: Promise<void> | undefined;
  #isWell = true;
  #isEnding = false;

  constructor(options: CallbackOutboxOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  /** After those who deliver: what is left by then are marks to be removed, and what they could not finish. */
  async drain(deadline: AbortSignal): Promise<void> {
    this.#end();
    await finished([...this.#underWay.values()], deadline);
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#looking;
  }

  async acquired(partitions: readonly number[]): Promise<void> {
    for (const partition of partitions) this.#letGo.delete(partition);
    if (this.#options.marks) this.#lookIn(0);
  }

  async releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void> {
    this.lost(partitions);
    const last = [...this.#underWay.values()].filter(({ partition }) => partitions.includes(partition));
    if (last.length === 0) return;
    const late = deadlineAfter(this.#options.clock, lastTriesMs, deadline);
    await finished(last, late.signal);
    late.cancel();
  }

  lost(partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#letGo.add(partition);
      this.#leases.get(partition)?.abort();
      this.#leases.delete(partition);
    }
  }

  /** An execution has ended, and its end is kept if it is one to keep. */
  post(accepted: AcceptedCall, callbackUrl: string, outcome: ExecutionOutcome): void {
    const { marks, callbacks } = this.#options;
    const { executionId } = accepted;
    if (!marks || !isDurable(accepted)) {
      void callbacks.deliver(toDelivery(accepted, callbackUrl, outcome));
      return;
    }
    // A look may have been quicker. Without a lease this is not the home any more: the next one finds the mark.
    const lease = this.#leaseOf(partitionOfExecution(executionId));
    if (lease && !this.#underWay.has(executionId))
      this.#begin(toDelivery(accepted, callbackUrl, outcome), marks, lease);
  }

  #leaseOf(partition: number): AbortSignal | undefined {
    if (this.#letGo.has(partition) || this.#options.fencingTokens.tokenOf(partition) === undefined) return undefined;
    const known = this.#leases.get(partition);
    if (known) return known.signal;
    const lease = new AbortController();
    setMaxListeners(0, lease.signal); // every result that waits listens to it
    this.#leases.set(partition, lease);
    return lease.signal;
  }

  #begin(delivery: ResultDelivery, marks: PendingCallbacks, lease: AbortSignal): void {
    const { executionId } = delivery;
    const mark = { executionId, tenantId: delivery.tenantId };
    const partition = partitionOfExecution(executionId);
    // Nothing here holds the body while the mark waits for its removal.
    const done = this.#options.callbacks.deliver({ ...delivery, lease }).then((end) => {
      if (isForGood(end, lease)) return this.#remove(mark, marks);
      this.#underWay.delete(executionId);
      // Perhaps it is ours again by now.
      if (end === 'full' || this.#leaseOf(partition)) this.#lookIn(lookAgainMs);
      return undefined;
    });
    this.#underWay.set(executionId, { partition, done });
  }

  async #remove(mark: Pick<PendingCallback, 'tenantId' | 'executionId'>, marks: PendingCallbacks): Promise<void> {
    const { executionId } = mark;
    try {
      await marks.remove(mark);
    } catch (error) {
      // It stays among those under way: whoever has had it does not get it again from us.
      if (!this.#isEnding) this.#options.observe({ kind: 'callback.mark-left', executionId, error });
      return;
    }
    this.#underWay.delete(executionId);
    if (this.#looking) this.#removed.add(executionId);
  }

  /** Sees to it that there is a look by then. */
  #lookIn(delayMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.monotonicMs() + delayMs;
    if (this.#isEnding || this.#nextLookMs <= atMs) return;
    this.#cancelLook();
    this.#nextLookMs = atMs;
    this.#cancelLook = clock.after(delayMs, () => {
      this.#nextLookMs = Infinity;
      // One that runs may have passed what this one is for.
      void (this.#looking ?? Promise.resolve()).then(() => this.#look());
    });
  }

  #look(): void {
    if (this.#isEnding || this.#looking) return;
    this.#looking = this.#lookNow().finally(() => {
      this.#looking = undefined;
      this.#removed.clear();
    });
  }

  async #lookNow(): Promise<void> {
    const { marks, observe } = this.#options;
    if (!marks) return;
    const look: Look = { results: 0, isComplete: true };
    try {
      await this.#takeUpAll(marks, look);
      this.#isWell = true;
    } catch (error) {
      look.isComplete = false;
      if (this.#isWell && !this.#isEnding) observe({ kind: 'callback.look-failed', error });
      this.#isWell = false;
    }
    if (look.results > 0) observe({ kind: 'callback.taken-up', results: look.results });
    this.#lookIn(look.isComplete ? lookMs : lookAgainMs);
  }

  async #takeUpAll(marks: PendingCallbacks, look: Look): Promise<void> {
    const { callbacks } = this.#options;
    let after: string | undefined;
    while (!this.#isEnding && callbacks.hasRoom(0)) {
      const partitions = this.#partitions();
      const page = partitions.length === 0 ? [] : await marks.list(partitions, after, marksAtOnce);
      for (const batch of toBatches(page.filter((mark) => !this.#isKnown(mark)))) {
        // Large ones wait for more room than the small ones behind them.
        const fitting = batch.filter(({ bytes }) => callbacks.hasRoom(bytes));
        if (fitting.length < batch.length) look.isComplete = false;
        look.results += this.#takeUp(fitting, await marks.read(fitting), marks);
      }
      if (page.length < marksAtOnce) return;
      after = page.at(-1)?.executionId;
    }
    look.isComplete = false;
  }

  /** Returns how many are delivered now. */
  #takeUp(batch: readonly PendingCallback[], read: readonly FinishedExecution[], marks: PendingCallbacks): number {
    const { clock, observe } = this.#options;
    const found = new Map(read.map((execution) => [execution.accepted.executionId, execution]));
    let results = 0;
    for (const mark of batch) {
      const { executionId, partition } = mark;
      const lease = this.#leaseOf(partition);
      if (!lease || this.#isKnown(mark)) continue;
      const execution = found.get(executionId);
      const due = toDueCallback(mark, execution, clock.now());
      if (due.kind === 'deliver') {
        this.#begin(due.delivery, marks, lease);
        results += 1;
        continue;
      }
      const { functionName = '(unknown)', callbackUrl } = execution?.accepted ?? {};
      const what = { executionId, functionName, origin: originOf(callbackUrl), tries: 0, problem: due.problem };
      observe({ kind: 'callback.given-up', ...what, reason: 'expired' });
      this.#underWay.set(executionId, { partition, done: this.#remove(mark, marks) });
    }
    return results;
  }

  #isKnown({ executionId }: PendingCallback): boolean {
    return this.#underWay.has(executionId) || this.#removed.has(executionId);
  }

  #partitions(): readonly number[] {
    const all = Array.from({ length: partitionCount }, (_, partition) => partition);
    return all.filter((partition) => this.#leaseOf(partition) !== undefined);
  }

  #end(): void {
    this.#isEnding = true;
    this.#cancelLook();
  }
}

/** Whether nothing is left to do. That another home has it now does not undo that it was taken. */
function isForGood(end: DeliveryEnd, lease: AbortSignal): boolean {
  if (end === 'full' || end === 'stopping') return false;
  return end === 'taken' || !lease.aborted;
}

function toBatches(marks: readonly PendingCallback[]): PendingCallback[][] {
  const batches: PendingCallback[][] = [];
  let batch: PendingCallback[] = [];
  let left = 0;
  for (const mark of marks) {
    if (batch.length === 0 || batch.length >= batchLimits.marks || mark.bytes > left) {
      batch = [];
      batches.push(batch);
      left = batchLimits.bytes;
    }
    batch.push(mark);
    left -= mark.bytes;
  }
  return batches;
}

function finished(some: readonly UnderWay[], deadline: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (deadline.aborted) return resolve();
    deadline.addEventListener('abort', () => resolve(), { once: true });
    void Promise.all(some.map(({ done }) => done)).then(() => resolve());
    return undefined;
  });
}
