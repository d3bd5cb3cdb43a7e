import type { ExecutionError } from '@drover/contracts';
import type { ExecutionStore, FinishedExecution, UnfinishedExecution } from '@drover/execution-store';
import { type OwnershipListener, partitionOf, partitionOfExecution } from '@drover/ownership';
import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionCatalog } from '../functions/function-catalog.js';
import type { EngineOptions } from './engine-options.js';
import type { InvocationEngine } from './engine.js';
import type { LiveExecution } from './live-execution.js';
import type { InvocationObservation } from './observations.js';

export interface PartitionExecutionsOptions {
  readonly engine: InvocationEngine;
  readonly store: ExecutionStore;
  readonly catalog: FunctionCatalog;
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
  /** Executions whose function is unknown at the moment, for example because its application is starting. They wait. */
  readonly #orphans = new Map<string, UnfinishedExecution>();
  #cancelTimer: () => void = () => undefined;

  constructor(options: PartitionExecutionsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#cancelTimer();
  }

  orphan(executionId: string): UnfinishedExecution | undefined {
    return this.#orphans.get(executionId);
  }

  orphans(): Iterable<UnfinishedExecution> {
    return this.#orphans.values();
  }

  async acquired(partitions: readonly number[]): Promise<void> {
    const { engine, store, observe } = this.#options;
    const { unfinished, keys } = await store.recover(partitions);
    for (const { idempotencyKey, executionId, expiresAt, functionName: name, ...scope } of keys)
      engine.keyed.index.end({ ...scope, name }, idempotencyKey, executionId, expiresAt);
    for (const execution of unfinished) this.#orphans.set(execution.accepted.executionId, execution);
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
    const { engine } = this.#options;
    const lost = new Set(partitions);
    engine.dropAll(this.#liveIn(lost));
    this.#closeQueues(lost);
    engine.keyed.index.drop((tenantId, name) => lost.has(partitionOf(tenantId, name)));
    for (const id of this.#orphans.keys()) if (lost.has(partitionOfExecution(id))) this.#orphans.delete(id);
  }

  /** Ends an orphan. It stays one if its end cannot be stored. */
  async end(
    { accepted, attempts, failures }: UnfinishedExecution,
    status: 'error' | 'cancelled',
    error: ExecutionError,
  ): Promise<FinishedExecution> {
    const { store, clock, onResult } = this.#options;
    const deadLetter = status === 'error' && accepted.kind === 'async';
    const isTransient = status === 'error';
    const outcome = { status, finishedAt: clock.now(), attempts, failures, error, deadLetter, isTransient };
    await store.finish(accepted, outcome);
    this.#orphans.delete(accepted.executionId);
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
    const { engine, catalog, observe } = this.#options;
    this.#cancelTimer();
    for (const [id, orphan] of this.#orphans) {
      const { tenantId, functionName, generation } = orphan.accepted;
      const definition = catalog.peek(tenantId, functionName) ?? (await catalog.find(tenantId, functionName));
      if (!this.#orphans.has(id)) continue; // its partition was lost, or it was cancelled, in the meantime
      if (definition === undefined) continue;
      if (definition.generation === generation) {
        this.#orphans.delete(id);
        engine.adopt(orphan, engine.queueFor(definition));
      } else {
        const message = `Function ${functionName} was removed.`;
        await this.end(orphan, 'error', { code: 'FUNCTION_REMOVED', message });
      }
    }
    if (this.#orphans.size === 0) return;
    observe({ kind: 'invocation.orphans', executions: this.#orphans.size });
    this.#adoptLater();
  }

  /** A failure, for example of the database, must not end the waiting. */
  #adoptLater(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.clock.after(
      adoptEveryMs,
      () => void this.#adoptOrphans().catch(() => this.#adoptLater()),
    );
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
