import { isDeepStrictEqual } from 'node:util';
import type { Payload } from '@drover/contracts';
import type { ExecutionOutcome, ExecutionStore } from '@drover/execution-store';
import type { Clock } from '@drover/service-kit';
import { refusalFor, type CallAnswer, type CallRefusal } from './call-results.js';
import type { NewCall } from './engine-options.js';
import { keyReused, keyTaken, tooManyKeys } from './errors.js';
import type { FunctionQueue } from './function-queue.js';
import { IdempotencyIndex } from './idempotency-index.js';
import type { LiveExecution } from './live-execution.js';

export interface KeyedCallsOptions {
  readonly store: Pick<ExecutionStore, 'find'>;
  readonly clock: Clock;
  /** Idempotency keys of one tenant. */
  readonly maxKeys: number;
  /** How long a key stands for an execution after its end. */
  readonly keyTtlMs: number;
}

/** What a key stands for, or why the call must not use it. */
export type KnownCall =
  | { readonly kind: 'live'; readonly live: LiveExecution }
  | { readonly kind: 'ended'; readonly executionId: string }
  | { readonly kind: 'refused'; readonly refusal: CallRefusal };

/**
 * Calls with idempotency keys. A key stands for one execution from its admission on, and for its result until it expires. A result that
 * a later attempt may change (unreachable endpoint, time-out) frees the key, so that the same call can be sent again.
 */
export class KeyedCalls {
  readonly index: IdempotencyIndex<LiveExecution>;
  readonly #options: KeyedCallsOptions;

  constructor(options: KeyedCallsOptions) {
    this.#options = options;
    this.index = new IdempotencyIndex(options.maxKeys);
  }

  /** Returns what the key of the call stands for; undefined when the call is a new one. A replay replaces what it repeats. */
  find(queue: FunctionQueue, { idempotencyKey, payload, replayOf }: NewCall): KnownCall | undefined {
    if (idempotencyKey === undefined) return undefined;
    const known = this.index.find(queue, idempotencyKey, this.#options.clock.now());
    if (!known) return undefined;
    if (replayOf !== undefined) {
      const executionId = known.kind === 'ended' ? known.executionId : known.live.accepted.executionId;
      return executionId === replayOf ? undefined : { kind: 'refused', refusal: { error: keyTaken({ executionId }) } };
    }
    if (known.kind === 'live' && !isSameInput(known.live.accepted.payload, payload))
      return { kind: 'refused', refusal: reused(known.live.accepted.executionId) };
    return known;
  }

  /** Reads the ended execution that the key of the call stands for. */
  async recall(queue: FunctionQueue, { payload }: NewCall, executionId: string): Promise<CallAnswer> {
    try {
      const found = await this.#options.store.find(queue.tenantId, executionId);
      // The store may evict an execution a moment before its key expires; its status is unknown then.
      const { status } = found?.outcome ?? { status: 'success' as const };
      if (!found || found.evicted) return { kind: 'evicted', executionId, status };
      if (!isSameInput(found.accepted.payload, payload)) return { kind: 'refused', refusal: reused(executionId) };
      return { kind: 'ended', ...found };
    } catch (error) {
      return { kind: 'refused', ...refusalFor(error) };
    }
  }

  /** Returns the refusal of another key, or undefined when the tenant may have one. */
  refusalOf({ tenantId }: FunctionQueue): CallRefusal | undefined {
    const { clock, maxKeys, keyTtlMs } = this.#options;
    const now = clock.now();
    if (this.index.hasRoom(tenantId, now)) return undefined;
    // While none has ended, the first one expires this long after its end at the earliest.
    const waitMs = (this.index.nextExpiry(tenantId) ?? now + keyTtlMs) - now;
    return { error: tooManyKeys({ limit: maxKeys }), retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)) };
  }

  claim(execution: LiveExecution): void {
    const { idempotencyKey } = execution.accepted;
    if (idempotencyKey !== undefined) this.index.claim(execution.queue, idempotencyKey, execution);
  }

  release(execution: LiveExecution): void {
    const { idempotencyKey } = execution.accepted;
    if (idempotencyKey !== undefined) this.index.release(execution.queue, idempotencyKey, execution);
  }

  /** Passes the key from the live execution to its end in one step: it is never free in between, unless the end frees it. */
  ended(execution: LiveExecution, { isTransient, finishedAt }: ExecutionOutcome): void {
    const { idempotencyKey, executionId } = execution.accepted;
    if (idempotencyKey === undefined) return;
    const known = this.index.find(execution.queue, idempotencyKey, finishedAt);
    if (known?.kind !== 'live' || known.live !== execution) return; // dropped before, or taken over by a replay
    if (isTransient) this.release(execution);
    else this.index.end(execution.queue, idempotencyKey, executionId, finishedAt + this.#options.keyTtlMs);
  }
}

function reused(executionId: string): CallRefusal {
  return { error: keyReused({ executionId }) };
}

/** Compares values, not texts: clients may write the members of an object in another order when they send it again. */
function isSameInput(one: Payload, other: Payload): boolean {
  if (one.encoding !== other.encoding) return false;
  return one.json === other.json || isDeepStrictEqual(JSON.parse(one.json), JSON.parse(other.json));
}
