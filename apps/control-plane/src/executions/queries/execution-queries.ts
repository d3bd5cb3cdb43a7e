import type { AcceptedCall, ExecutionState, TenantId } from '@drover/contracts';
import type { ExecutionFilter, ExecutionStore } from '@drover/execution-store';
import type { Clock } from '@drover/service-kit';
import type { InvocationEngine } from '../engine.js';
import { executionNotFound } from '../errors.js';
import type { PartitionExecutions } from '../partition-executions.js';
import { viewFinished, viewLive, viewRecent, viewUnfinished, type ExecutionText } from './execution-view.js';

export interface ExecutionQueriesOptions {
  readonly engine: InvocationEngine;
  readonly partitions: PartitionExecutions;
  readonly store: ExecutionStore;
  readonly clock: Clock;
}

/** Executions in the order of the filter, and the cursor of the next page. */
export interface ExecutionTextPage {
  readonly executions: readonly ExecutionText[];
  readonly next?: string;
}

/** The view is a function so that only the executions of the page are written. */
type ListedExecution = readonly [executionId: string, view: () => ExecutionText];

/** Reads executions: live ones from the engine, ended ones from the store. */
export class ExecutionQueries {
  readonly #options: ExecutionQueriesOptions;

  constructor(options: ExecutionQueriesOptions) {
    this.#options = options;
  }

  /** Rejects with `EXECUTION_NOT_FOUND` when the tenant has no such execution. */
  async get(tenantId: TenantId, executionId: string): Promise<ExecutionText> {
    const { engine, partitions, store, clock } = this.#options;
    const live = engine.live.get(executionId);
    if (live?.isAccepted && live.accepted.tenantId === tenantId) return viewLive(live);
    const orphan = partitions.orphan(executionId);
    if (orphan?.accepted.tenantId === tenantId) return viewUnfinished(orphan);
    const recent = engine.recent.find(executionId, clock.now());
    if (recent?.tenantId === tenantId) return viewRecent(recent);
    const finished = await store.find(tenantId, executionId);
    if (finished) return viewFinished(finished);
    throw executionNotFound({ executionId });
  }

  async list(filter: ExecutionFilter): Promise<ExecutionTextPage> {
    const { limit } = filter;
    // Memory first: an execution that ends in between is in the store by then, and the store's version is shown.
    const found = new Map(filter.deadLettersOnly ? [] : this.#inMemory(filter));
    const stored = isLiveStatus(filter.status) ? [] : await this.#options.store.list({ ...filter, limit: limit + 1 });
    for (const finished of stored) found.set(finished.accepted.executionId, () => viewFinished(finished));
    const sorted = [...found];
    const direction = filter.oldestFirst ? 1 : -1;
    sorted.sort(([one], [other]) => (one < other ? -direction : direction));
    const page = sorted.slice(0, limit);
    const last = page.at(-1)?.[0];
    return {
      executions: page.map(([, view]) => view()),
      ...(sorted.length > limit && last !== undefined && { next: last }),
    };
  }

  /** Returns the ids of dead letters, the oldest first. */
  async deadLetters(filter: ExecutionFilter): Promise<readonly string[]> {
    const letters = await this.#options.store.list({ ...filter, deadLettersOnly: true, oldestFirst: true });
    return letters.map(({ accepted }) => accepted.executionId);
  }

  countDeadLetters(filter: ExecutionFilter): Promise<number> {
    return this.#options.store.countDeadLetters(filter);
  }

  /** Executions that the store does not return: unfinished ones, and recent calls that were not durable. */
  *#inMemory(filter: ExecutionFilter): Generator<ListedExecution> {
    const { engine, partitions, clock } = this.#options;
    for (const { accepted, status, attempts, failures, isAccepted } of engine.live.all())
      if (isAccepted && matches(filter, accepted, status))
        yield [accepted.executionId, () => viewLive({ accepted, status, attempts, failures })];
    for (const orphan of partitions.orphans())
      if (matches(filter, orphan.accepted, 'queued')) yield [orphan.accepted.executionId, () => viewUnfinished(orphan)];
    for (const call of engine.recent.all())
      if (matches(filter, call, call.status) && engine.recent.find(call.executionId, clock.now()))
        yield [call.executionId, () => viewRecent(call)];
  }
}

export function isLiveStatus(status: string | undefined): boolean {
  return status === 'queued' || status === 'running';
}

type FilteredFields = Pick<AcceptedCall, 'executionId' | 'tenantId' | 'functionName' | 'acceptedAt'> & {
  readonly traceId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
};

function matches(filter: ExecutionFilter, one: FilteredFields, status: ExecutionState): boolean {
  const { from = -Infinity, to = Infinity, after, oldestFirst = false } = filter;
  return (
    one.tenantId === filter.tenantId &&
    (filter.functionName === undefined || one.functionName === filter.functionName) &&
    (filter.status === undefined || status === filter.status) &&
    (filter.traceId === undefined || one.traceId === filter.traceId) &&
    (filter.idempotencyKey === undefined || one.idempotencyKey === filter.idempotencyKey) &&
    one.acceptedAt >= from &&
    one.acceptedAt < to &&
    (after === undefined || (oldestFirst ? one.executionId > after : one.executionId < after))
  );
}
