import type { ExecutionError, TenantId } from '@drover/contracts';
import type { InvocationEngine } from '../engine.js';
import type { LiveExecution } from '../live-execution.js';
import type { PartitionExecutions } from '../partition-executions.js';

export interface QueueCommandsOptions {
  readonly engine: InvocationEngine;
  readonly partitions: PartitionExecutions;
}

/** Calls of a function that have not ended. */
export interface QueueCounts {
  readonly waiting: number;
  readonly retrying: number;
  readonly scheduled: number;
  readonly running: number;
}

const purged: ExecutionError = { code: 'QUEUE_PURGED', message: 'The queue of the function was purged.' };

/** Counts and purges the calls of one function, on the replica that owns it. */
export class QueueCommands {
  readonly #options: QueueCommandsOptions;

  constructor(options: QueueCommandsOptions) {
    this.#options = options;
  }

  countsOf(tenantId: TenantId, name: string): QueueCounts {
    const counts = { waiting: 0, retrying: 0, scheduled: 0, running: 0 };
    for (const { state, isDelayed } of this.#liveOf(tenantId, name))
      if (state === 'running') counts.running += 1;
      else if (state === 'retrying') counts.retrying += 1;
      else if (state === 'scheduled' || (state === 'accepting' && isDelayed)) counts.scheduled += 1;
      else if (state === 'queued' || state === 'accepting') counts.waiting += 1;
    for (const { accepted } of this.#options.partitions.orphans())
      if (accepted.tenantId === tenantId && accepted.functionName === name) counts.waiting += 1;
    return counts;
  }

  /** Cancels every call that waits. Resolves with their number once their ends are durable. Attempts that run go on. */
  async purge(tenantId: TenantId, name: string): Promise<number> {
    const { engine, partitions } = this.#options;
    const waiting = [...this.#liveOf(tenantId, name)].filter(({ isWaiting }) => isWaiting);
    const orphans = [...partitions.orphans()].filter(
      ({ accepted }) => accepted.tenantId === tenantId && accepted.functionName === name,
    );
    const answers = await Promise.all(waiting.map((execution) => engine.cancel(execution, purged)));
    await Promise.all(orphans.map((orphan) => partitions.end(orphan, 'cancelled', purged)));
    const cancelled = answers.filter((answer) => answer.kind === 'ended' && answer.outcome.status === 'cancelled');
    return cancelled.length + orphans.length;
  }

  *#liveOf(tenantId: TenantId, name: string): Generator<LiveExecution> {
    for (const execution of this.#options.engine.live.all()) {
      const { queue } = execution;
      if (queue.name === name && queue.tenantId === tenantId) yield execution;
    }
  }
}
