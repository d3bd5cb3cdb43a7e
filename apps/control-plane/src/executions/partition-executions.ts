import type { ExecutionError } from '@drover/contracts';
import type { Clock, Lifecycle, Observe } from '@drover/service-kit';
import type { FunctionCatalog } from '@drover/dispatchers';
import { type OwnershipListener, partitionOf, partitionOfExecution } from '@drover/ownership';
import type { ExecutionStore, FinishedExecution, UnfinishedExecution } from '@drover/execution-store';
import { functionOf, scopedKey, type ScopedKey } from './idempotency-index.js';
import type { InvocationObservation } from './observations.js';
import type { EngineOptions } from './engine-options.js';
import type { InvocationEngine } from './engine.js';
import type { LiveExecution } from './live-execution.js';

export interface PartitionExecutionsOptions {
  readonly engine: InvocationEngine;
  readonly store: ExecutionStore;
  readonly catalog: FunctionCatalog;
  readonly onResult: EngineOptions['onResult'];
  readonly clock: Clock;
  readonly observe: Observe<InvocationObservation>;
}

const lookAgainMs = 1_000;

/** Takes partitions into the engine and out of it, as this replica becomes and ceases to be their home. */
export class PartitionExecutions implements OwnershipListener, Lifecycle {
  readonly name = 'engine home';
  readonly #options: PartitionExecutionsOptions;
  /** Executions whose function nobody knows at the moment: its application may be starting. They wait, nothing is lost. */
  readonly #orphans = new Map<string, UnfinishedExecution>();
  #cancelLook: () => void = () => undefined;

  constructor(options: PartitionExecutionsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  async drain(): Promise<void> {}

  async stop(): Promise<void> {
    this.#cancelLook();
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
    for (const { idempotencyKey, executionId, expiresAt, ...binding } of keys)
      engine.keys.end(scopedKey({ ...binding, name: binding.functionName }, idempotencyKey), executionId, expiresAt);
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
    const isGone = toTest(partitions);
    for (const queue of engine.queues.values()) if (isGone.partition(queue.partition)) engine.leave(queue);
    // What is in the store is run by the next home; what is not has only us.
    for (const execution of this.#of(isGone))
      if (execution.isStored && execution.state === 'queued') engine.drop(execution);
    await new Promise<void>((resolve) => {
      let left = 0;
      const one = (): void => {
        left -= 1;
        if (left === 0) resolve();
      };
      for (const execution of this.#of(isGone)) {
        left += 1;
        (execution.waiters ??= []).push({ answer: one, cancelTimer: () => undefined });
      }
      if (left === 0 || deadline.aborted) resolve();
      deadline.addEventListener('abort', () => resolve(), { once: true });
    });
    this.lost(partitions);
  }

  lost(partitions: readonly number[]): void {
    const { engine } = this.#options;
    const isGone = toTest(partitions);
    engine.dropAll(this.#of(isGone));
    for (const queue of engine.queues.values()) if (isGone.partition(queue.partition)) engine.leave(queue);
    engine.keys.drop((key) => isGone.key(key));
    for (const id of this.#orphans.keys()) if (isGone.partition(partitionOfExecution(id))) this.#orphans.delete(id);
  }

  #of(isGone: Gone): LiveExecution[] {
    return [...this.#options.engine.live.all()].filter(({ queue }) => isGone.partition(queue.partition));
  }

  async #adoptOrphans(): Promise<void> {
    const { engine, catalog, clock, observe } = this.#options;
    this.#cancelLook();
    for (const [id, orphan] of this.#orphans) {
      const { tenantId, functionName, generation } = orphan.accepted;
      const definition = catalog.peek(tenantId, functionName) ?? (await catalog.find(tenantId, functionName));
      if (!this.#orphans.has(id)) continue; // its partition has moved on meanwhile
      if (definition === undefined) continue;
      this.#orphans.delete(id);
      if (definition.generation === generation) engine.adopt(orphan, engine.queueFor(definition));
      else
        await this.end(orphan, 'error', { code: 'FUNCTION_REMOVED', message: `function ${functionName} was removed` });
    }
    if (this.#orphans.size === 0) return;
    observe({ kind: 'invocation.orphans', executions: this.#orphans.size });
    this.#cancelLook = clock.after(lookAgainMs, () => void this.#adoptOrphans().catch(() => undefined));
  }

  /** Ends one that waits for its function. */
  async end(
    { accepted, attempts, failures }: UnfinishedExecution,
    status: 'error' | 'cancelled',
    error: ExecutionError,
  ): Promise<FinishedExecution> {
    const { store, clock, onResult } = this.#options;
    const deadLetter = status === 'error' && accepted.kind === 'async';
    const outcome = { status, finishedAt: clock.now(), attempts, failures, error, deadLetter };
    this.#orphans.delete(accepted.executionId);
    await store.finish(accepted, outcome);
    if (accepted.callbackUrl !== undefined) onResult(accepted, accepted.callbackUrl, outcome);
    return { accepted, outcome, evicted: false };
  }
}

interface Gone {
  partition(partition: number): boolean;
  key(key: ScopedKey): boolean;
}

function toTest(partitions: readonly number[]): Gone {
  const gone = new Set(partitions);
  return {
    partition: (partition) => gone.has(partition),
    key(key) {
      const { tenantId, name } = functionOf(key);
      return gone.has(partitionOf(tenantId, name));
    },
  };
}
