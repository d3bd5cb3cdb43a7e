import type { ExecutionState, AcceptedCall, TenantId } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import type { ExecutionFilter, ExecutionStore, FinishedExecution } from '@drover/execution-store';
import type { Accepted } from './accepted.js';
import type { PartitionExecutions } from './partition-executions.js';
import type { NewCall } from './engine-options.js';
import { cancelledOnRequest, type InvocationEngine } from './engine.js';
import { executionEnded, executionNotFound, functionNotFound, notReplayable } from './errors.js';
import { viewFinished, viewLive, viewRecent, viewUnfinished, type ExecutionText } from './execution-view.js';

export interface ExecutionDeskOptions {
  readonly engine: InvocationEngine;
  readonly partitions: PartitionExecutions;
  readonly store: ExecutionStore;
  readonly clock: Clock;
}

/** One page: texts of executions in the order that was asked for, and where the next page begins. */
export interface Page {
  readonly executions: readonly ExecutionText[];
  readonly next?: string;
}

export interface Redriven {
  readonly executionId: string;
  readonly redrivenAs?: string;
  /** The code of what stood in the way. */
  readonly error?: string;
}

/** Written only when it comes to be shown. */
type Placed = readonly [executionId: string, view: () => ExecutionText];

/** Where executions are looked at, ended and run again: what is live comes from the engine, what has ended from the store. */
export class ExecutionDesk {
  readonly #options: ExecutionDeskOptions;

  constructor(options: ExecutionDeskOptions) {
    this.#options = options;
  }

  async get(tenantId: TenantId, executionId: string): Promise<ExecutionText> {
    const { engine, partitions, store, clock } = this.#options;
    const live = engine.live.get(executionId);
    if (live?.accepted.tenantId === tenantId) return viewLive(live);
    const orphan = partitions.orphan(executionId);
    if (orphan?.accepted.tenantId === tenantId) return viewUnfinished(orphan);
    const recent = engine.recent.find(executionId, clock.now());
    if (recent?.tenantId === tenantId) return viewRecent(recent);
    const finished = await store.find(tenantId, executionId);
    if (finished) return viewFinished(finished);
    throw executionNotFound({ executionId });
  }

  async list(filter: ExecutionFilter): Promise<Page> {
    const { limit } = filter;
    // These first: one that ends in between is in the store by then, and as it is there it is shown.
    const found = new Map(filter.deadLettersOnly ? [] : this.#unkept(filter));
    const kept = isLive(filter.status) ? [] : await this.#options.store.list({ ...filter, limit: limit + 1 });
    for (const finished of kept) found.set(finished.accepted.executionId, () => viewFinished(finished));
    const placed = [...found];
    const direction = filter.oldestFirst ? 1 : -1;
    placed.sort(([one], [other]) => (one < other ? -direction : direction));
    const page = placed.slice(0, limit);
    const last = page.at(-1)?.[0];
    return {
      executions: page.map(([, view]) => view()),
      ...(placed.length > limit && last !== undefined && { next: last }),
    };
  }

  /** Ends an execution that has not ended. */
  async cancel(tenantId: TenantId, executionId: string): Promise<ExecutionText> {
    const { engine, partitions } = this.#options;
    const live = engine.live.get(executionId);
    if (live?.accepted.tenantId !== tenantId) {
      const orphan = partitions.orphan(executionId);
      if (orphan?.accepted.tenantId === tenantId)
        return viewFinished(await partitions.end(orphan, 'cancelled', cancelledOnRequest));
      const text = await this.get(tenantId, executionId); // throws when there is none
      throw executionEnded({ executionId, status: statusIn(text) });
    }
    const answer = await engine.cancel(live);
    if (answer.kind === 'refused') throw answer.refusal.error;
    if (answer.kind !== 'ended') throw executionNotFound({ executionId });
    const { accepted, outcome } = answer;
    if (outcome.status !== 'cancelled') throw executionEnded({ executionId, status: outcome.status });
    return viewFinished({ accepted, outcome, evicted: false });
  }

  /** Runs what failed again, as a new execution with the same input; `isRedrive` when only a dead letter is meant. */
  async replay(tenantId: TenantId, executionId: string, isRedrive: boolean): Promise<Accepted> {
    const { store, engine } = this.#options;
    const found = await store.find(tenantId, executionId);
    if (!found) {
      const status = statusIn(await this.get(tenantId, executionId)); // throws when there is none
      throw notReplayable({ executionId, reason: isLive(status) ? 'it has not ended' : 'its input was not kept' });
    }
    const { accepted, outcome, evicted } = found;
    if (outcome.status === 'success') throw notReplayable({ executionId, reason: 'it succeeded' });
    if (evicted) throw notReplayable({ executionId, reason: 'its input is no longer kept' });
    if (isRedrive && !outcome.deadLetter) throw notReplayable({ executionId, reason: 'it is no dead letter' });
    if (isRedrive && found.redrivenAs !== undefined)
      throw notReplayable({ executionId, reason: `it was redriven as ${found.redrivenAs}` });
    const lane = await engine.openLane(tenantId, accepted.functionName);
    if (!lane) throw functionNotFound({ name: accepted.functionName });
    const enqueued = await engine.enqueue(lane, again(accepted));
    if ('refusal' in enqueued) throw enqueued.refusal.error;
    // A concurrent redrive may have been quicker. Then both run, which is better than neither, and the list shows both.
    if (outcome.deadLetter) await store.markRedriven(tenantId, executionId, enqueued.executionId);
    return enqueued;
  }

  /** The dead letters that are meant: those named, or the oldest of a function. */
  async deadLetters(
    tenantId: TenantId,
    wanted: { readonly executionIds?: readonly string[]; readonly functionName?: string; readonly limit: number },
  ): Promise<readonly string[]> {
    if (wanted.executionIds) return wanted.executionIds;
    const { functionName, limit } = wanted;
    const letters = await this.#options.store.list({
      tenantId,
      deadLettersOnly: true,
      oldestFirst: true,
      limit,
      ...(functionName !== undefined && { functionName }),
    });
    return letters.map(({ accepted }: FinishedExecution) => accepted.executionId);
  }

  /** What the store does not have: what has not ended, and what nobody asked to keep. */
  *#unkept(filter: ExecutionFilter): Generator<Placed> {
    const { engine, partitions, clock } = this.#options;
    for (const { accepted, state, attempts, failures } of engine.live.all())
      if (fits(filter, accepted, state))
        yield [accepted.executionId, () => viewLive({ accepted, state, attempts, failures })];
    for (const orphan of partitions.orphans())
      if (fits(filter, orphan.accepted, 'queued')) yield [orphan.accepted.executionId, () => viewUnfinished(orphan)];
    for (const call of engine.recent.all())
      if (fits(filter, call, call.status) && engine.recent.find(call.executionId, clock.now()))
        yield [call.executionId, () => viewRecent(call)];
  }
}

function isLive(status: string | undefined): boolean {
  return status === 'queued' || status === 'running';
}

/** The view begins with what is always there; this is the status in it. */
function statusIn(text: ExecutionText): string {
  return (JSON.parse(text) as { readonly status: string }).status; // written by the views
}

type Filterable = Pick<AcceptedCall, 'executionId' | 'tenantId' | 'functionName' | 'acceptedAt'> & {
  readonly traceId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
};

function fits(filter: ExecutionFilter, one: Filterable, status: ExecutionState): boolean {
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

/** The same call without its key, which stands for the one that failed, and at once. */
function again({ executionId, payload, metadata, headers, traceId, callbackUrl }: AcceptedCall): NewCall {
  return {
    payload,
    replayOf: executionId,
    ...(metadata && { metadata }),
    ...(headers && { headers }),
    ...(traceId !== undefined && { traceId }),
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
}
