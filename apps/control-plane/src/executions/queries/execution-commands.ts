import type { AcceptedCall, TenantId } from '@drover/contracts';
import type { ExecutionFilter, ExecutionStore } from '@drover/execution-store';
import type { NewCall } from '../engine-options.js';
import { cancelledOnRequest } from '../end-reasons.js';
import type { InvocationEngine } from '../engine.js';
import { executionEnded, executionNotFound, functionUnknown, notReplayable } from '../errors.js';
import type { EnqueueResult } from '../call-results.js';
import type { PartitionExecutions } from '../partition-executions.js';
import { isLiveStatus, type ExecutionQueries } from './execution-queries.js';
import { viewFinished, type ExecutionText } from './execution-view.js';

export interface ExecutionCommandsOptions {
  readonly engine: InvocationEngine;
  readonly partitions: PartitionExecutions;
  readonly store: ExecutionStore;
  readonly queries: ExecutionQueries;
}

export interface RedriveResult {
  readonly executionId: string;
  readonly redrivenAs?: string;
  /** The error code when the execution could not be redriven. */
  readonly error?: string;
}

/** Cancels executions, runs failed ones again, and deletes dead letters. */
export class ExecutionCommands {
  readonly #options: ExecutionCommandsOptions;

  constructor(options: ExecutionCommandsOptions) {
    this.#options = options;
  }

  /** Cancels an unfinished execution and returns it once its end is durable. Rejects when it has ended. */
  async cancel(tenantId: TenantId, executionId: string): Promise<ExecutionText> {
    const { engine, partitions } = this.#options;
    const live = engine.live.get(executionId);
    if (!live?.isAccepted || live.accepted.tenantId !== tenantId) {
      const orphan = partitions.orphan(executionId);
      if (orphan?.accepted.tenantId === tenantId)
        return viewFinished(await partitions.end(orphan, 'cancelled', cancelledOnRequest));
      throw executionEnded({ executionId, status: await this.#statusOf(tenantId, executionId) });
    }
    const answer = await engine.cancel(live);
    if (answer.kind === 'refused') throw answer.refusal.error;
    if (answer.kind !== 'ended') throw executionNotFound({ executionId });
    const { accepted, outcome } = answer;
    if (outcome.status !== 'cancelled') throw executionEnded({ executionId, status: outcome.status });
    return viewFinished({ accepted, outcome, evicted: false });
  }

  /** Runs a failed execution again, as a new execution with the same input. `isRedrive` accepts only dead letters. */
  async replay(tenantId: TenantId, executionId: string, isRedrive: boolean): Promise<EnqueueResult> {
    const { store, engine } = this.#options;
    const found = await store.find(tenantId, executionId);
    if (!found) {
      const status = await this.#statusOf(tenantId, executionId);
      const reason = isLiveStatus(status) ? 'it has not ended' : 'its input was not stored';
      throw notReplayable({ executionId, reason });
    }
    const { accepted, outcome, evicted } = found;
    if (outcome.status === 'success') throw notReplayable({ executionId, reason: 'it succeeded' });
    if (evicted) throw notReplayable({ executionId, reason: 'its input is no longer stored' });
    if (isRedrive && !outcome.deadLetter) throw notReplayable({ executionId, reason: 'it is no dead letter' });
    if (isRedrive && found.redrivenAs !== undefined)
      throw notReplayable({ executionId, reason: `it was redriven as ${found.redrivenAs}` });
    const queue = await engine.openQueue(tenantId, accepted.functionName);
    if (!queue) throw functionUnknown({ name: accepted.functionName });
    const enqueued = await engine.enqueue(queue, toNewCall(accepted));
    if ('refusal' in enqueued) throw enqueued.refusal.error;
    // A concurrent redrive may have been quicker. Then both run, which is better than neither, and the list shows both.
    if (outcome.deadLetter) await store.markRedriven(tenantId, executionId, enqueued.executionId);
    return enqueued;
  }

  /** Deletes dead letters, up to the limit of the filter. Returns how many. */
  deleteDeadLetters(filter: ExecutionFilter): Promise<number> {
    return this.#options.store.deleteDeadLetters(filter);
  }

  /** Rejects with `EXECUTION_NOT_FOUND` when there is no such execution. */
  async #statusOf(tenantId: TenantId, executionId: string): Promise<string> {
    const text = await this.#options.queries.get(tenantId, executionId);
    return (JSON.parse(text) as { readonly status: string }).status; // written by the views
  }
}

/** The same call, to run at once. It takes over the idempotency key, which stands for the replay from then on. */
function toNewCall(accepted: AcceptedCall): NewCall {
  const { executionId, payload, metadata, headers, idempotencyKey, concurrencyKey, traceId, callbackUrl } = accepted;
  return {
    payload,
    replayOf: executionId,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(concurrencyKey !== undefined && { concurrencyKey }),
    ...(metadata && { metadata }),
    ...(headers && { headers }),
    ...(traceId !== undefined && { traceId }),
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
}
