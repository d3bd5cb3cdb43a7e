import type { ExecutionError } from '@drover/contracts';
import type { ExecutionStore, FinishedExecution, UnfinishedExecution } from '@drover/execution-store';
import type { FunctionDefinition } from '@drover/dispatchers';
import { type OwnershipListener, partitionOf, partitionOfExecution } from '@drover/ownership';
import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionCatalog } from '../functions/function-catalog.js';
import { functionGone } from './end-reasons.js';
import type { EngineOptions } from './engine-options.js';
import type { InvocationEngine } from './engine.js';
import type { LiveExecution } from './live-execution.js';
import type { InvocationObservation } from './observations.js';
import type { OrphanedExecutions } from './orphaned-executions.js';

export interface PartitionExecutionsOptions {
  readonly engine: InvocationEngine;
  readonly store: ExecutionStore;
  readonly catalog: FunctionCatalog;
  readonly orphans: OrphanedExecutions;
  /** Time limit of an execution, from its acceptance or its `runAt` to its end. */
  readonly lifetimeMs: number;
  readonly onResult: EngineOptions['onResult'];
  readonly clock: Clock;
  readonly observe: Observe<InvocationObservation>;
}

/** Interval at which the functions of orphans are looked up again. */
const adoptEveryMs = 1_000;

/** Recovers the executions of partitions that this replica acquires, and gives up those of partitions that it releases or loses. */
export class PartitionExecutions implements OwnershipListener, Lifecycle {
  readonly name = 'partition executions';
  readonly #options: PartitionExecutionsOptions;
  #cancelTimer: (() => void) | undefined;
  /** Orphans at the last observation. */
  #observed = 0;

  constructor(options: PartitionExecutionsOptions) {
    this.#options = options;
    options.orphans.onAdded(() => this.#adoptLater());
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#cancelTimer?.();
  }

  orphan(executionId: string): UnfinishedExecution | undefined {
    return this.#options.orphans.get(executionId);
  }

  orphans(): Iterable<UnfinishedExecution> {
    return this.#options.orphans.all();
  }

  async acquired(partitions: readonly number[]): Promise<void> {
    const { engine, store, orphans, observe } = this.#options;
    const { unfinished, keys } = await store.recover(partitions);
    for (const { idempotencyKey, executionId, expiresAt, functionName: name, ...scope } of keys)
      engine.keyed.index.end({ ...scope, name }, idempotencyKey, executionId, expiresAt);
    orphans.add(unfinished);
    await this.#adoptOrphans();
    observe({
      kind: 'invocation.recovered',
      partitions: partitions.length,
      executions: unfinished.length,
      keys: keys.length,
    });
  }

  async releasing(partitions: readonly number[], deadline: AbortSignal): Promise<void> {
    const { engine } = this.#options;
    const released = new Set(partitions);
    this.#closeQueues(released);
    // The next owner runs what is in the store. An execution that is not durable can only finish here.
    for (const execution of this.#liveIn(released))
      if (execution.isDurable && execution.isWaiting) engine.drop(execution);
    await ended(this.#liveIn(released), deadline);
    this.lost(partitions);
  }

  resumed(partitions: readonly number[]): void {
    const { engine } = this.#options;
    const resumed = new Set(partitions);
    for (const queue of engine.queues.values()) if (resumed.has(queue.partition)) engine.runner.offer(queue);
  }

  lost(partitions: readonly number[]): void {
    const { engine, orphans } = this.#options;
    const lost = new Set(partitions);
    engine.dropAll(this.#liveIn(lost));
    this.#closeQueues(lost);
    engine.keyed.index.drop((tenantId, name) => lost.has(partitionOf(tenantId, name)));
    for (const { accepted } of orphans.all())
      if (lost.has(partitionOfExecution(accepted.executionId))) orphans.delete(accepted.executionId);
  }

  /** Ends an orphan. It stays one if its end cannot be stored. */
  async end(
    { accepted, attempts, failures }: UnfinishedExecution,
    status: 'error' | 'cancelled',
    error: ExecutionError,
  ): Promise<FinishedExecution> {
    const { store, clock, orphans, onResult } = this.#options;
    const deadLetter = status === 'error' && accepted.kind === 'async';
    const isTransient = status === 'error';
    const outcome = { status, finishedAt: clock.now(), attempts, failures, error, deadLetter, isTransient };
    await store.finish(accepted, outcome);
    orphans.delete(accepted.executionId);
    if (accepted.callbackUrl !== undefined) onResult(accepted, accepted.callbackUrl, outcome);
    return { accepted, outcome, evicted: false };
  }

  #closeQueues(partitions: ReadonlySet<number>): void {
    const { queues } = this.#options.engine;
    for (const queue of queues.values()) if (partitions.has(queue.partition)) queues.close(queue, 'moved');
  }

  #liveIn(partitions: ReadonlySet<number>): LiveExecution[] {
    return [...this.#options.engine.live.all()].filter(({ queue }) => partitions.has(queue.partition));
  }

  async #adoptOrphans(): Promise<void> {
    const { catalog, orphans, observe } = this.#options;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const group of orphans.byFunction()) {
      const { tenantId, functionName } = group[0].accepted;
      const definition = catalog.peek(tenantId, functionName) ?? (await catalog.find(tenantId, functionName));
      // Unless their partition was lost, or they were cancelled, in the meantime.
      const left = group.filter((orphan) => orphans.get(orphan.accepted.executionId) === orphan);
      await Promise.all(left.map((orphan) => this.#adopt(orphan, definition)));
    }
    if (orphans.size !== this.#observed && orphans.size > 0)
      observe({ kind: 'invocation.orphans', executions: orphans.size });
    this.#observed = orphans.size;
    if (orphans.size > 0) this.#adoptLater();
  }

  /**
   * Lets an orphan go on if its function is back, synchronously, since the definition may be outdated later. Ends it if its function
   * cannot come back, or has had enough time to.
   */
  async #adopt(orphan: UnfinishedExecution, definition: FunctionDefinition | undefined): Promise<void> {
    const { engine, orphans, clock, lifetimeMs } = this.#options;
    const { functionName, generation, executionId, acceptedAt, runAt = acceptedAt } = orphan.accepted;
    if (definition?.generation === generation) {
      const queue = engine.queueFor(definition); // adopts them when it opens the queue
      orphans.delete(executionId);
      engine.adopt(orphan, queue);
    } else if (definition && !definition.discovered) {
      await this.end(orphan, 'error', functionGone(functionName));
    } else if (runAt + lifetimeMs <= clock.now()) {
      const message = `Function ${functionName} did not return within ${lifetimeMs} ms after the call was accepted.`;
      await this.end(orphan, 'error', { code: 'EXECUTION_EXPIRED', message });
    }
  }

  /** A failure, for example of the database, must not end the waiting. */
  #adoptLater(): void {
    this.#cancelTimer ??= this.#options.clock.after(adoptEveryMs, () => {
      this.#cancelTimer = undefined;
      void this.#adoptOrphans().catch(() => this.#adoptLater());
    });
  }
}

/** Resolves when all executions have ended or were dropped, or when the deadline aborts. */
function ended(executions: readonly LiveExecution[], deadline: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let left = executions.length;
    const answer = (): void => {
      left -= 1;
      if (left === 0) resolve();
    };
    for (const execution of executions) (execution.waiters ??= []).push({ answer, cancelTimer: () => undefined });
    if (left === 0 || deadline.aborted) resolve();
    deadline.addEventListener('abort', () => resolve(), { once: true });
  });
}
