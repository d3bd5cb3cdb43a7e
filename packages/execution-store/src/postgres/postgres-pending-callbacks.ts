import { GroupCommit, isRefusedByServer, type Database, type DatabaseIo } from '@drover/database';
import { BackOff } from '@drover/service-kit';
import { executionStoreFull, executionStoreStopped } from '../errors.js';
import type { FinishedExecution } from '../execution.js';
import type { PendingCallback, PendingCallbacks } from '../pending-callbacks.js';
import { toFinished, type ArchiveItem } from './archive-rows.js';
import { BinaryArrays } from './binary-arrays.js';
import {
  listPendingCallbacks,
  readCallbackResults,
  removePendingCallbacks,
  type ReadCallbackResults,
  type RemovePendingCallbacks,
} from './statements/pending-callbacks.js';

export interface PostgresPendingCallbacksOptions extends DatabaseIo {
  readonly database: Database;
}

/** Long enough for a receiver, or the platform itself, to be unavailable for a night. */
const dueForMs = 86_400_000;
const lowestId = '00000000-0000-0000-0000-000000000000';
const itemBytes = 128;
const maxWaitingBytes = 67_108_864;
/** No caller waits for a removal, and one that is late costs nothing but its row. */
const linger = { ms: 50, items: 250 };
const retryBackOff = { firstMs: 100, maxMs: 5_000, factor: 2 };

type CallbackKey = Pick<PendingCallback, 'tenantId' | 'executionId'>;

/** Pending callbacks in a table of their own, which is empty where no call has a callback URL. The archive adds them. */
export class PostgresPendingCallbacks implements PendingCallbacks {
  readonly #options: PostgresPendingCallbacksOptions;
  readonly #removals: GroupCommit<CallbackKey>;
  readonly #stopping = new AbortController();

  constructor(options: PostgresPendingCallbacksOptions) {
    this.#options = options;
    this.#removals = new GroupCommit({
      name: 'execution-callbacks',
      clock: options.clock,
      observe: options.observe,
      write: (keys) => this.#remove(keys),
      bytesOf: () => itemBytes,
      linger,
      maxBytes: 1_048_576,
      maxWaitingItems: Number.POSITIVE_INFINITY, // limited by bytes
      maxWaitingBytes,
      full: ({ heldBytes }) => executionStoreFull({ waitingBytes: heldBytes, limitBytes: maxWaitingBytes }),
      stopped: () => executionStoreStopped({}),
    });
  }

  async list(
    partitions: readonly number[],
    after: string | undefined,
    limit: number,
  ): Promise<readonly PendingCallback[]> {
    const rows = await listPendingCallbacks(this.#options.database, [partitions, after ?? lowestId, limit]);
    return rows.map((row) => ({
      executionId: row.execution_id,
      tenantId: row.tenant_id,
      partition: row.partition,
      dueUntil: row.due_until.getTime(),
      bytes: row.bytes,
    }));
  }

  async read(pending: readonly PendingCallback[]): Promise<readonly FinishedExecution[]> {
    if (pending.length === 0) return [];
    const arrays = new BinaryArrays();
    arrays.begin('text', pending.length);
    for (const { tenantId } of pending) arrays.text(tenantId);
    arrays.begin('uuid', pending.length);
    for (const { executionId } of pending) arrays.uuid(executionId);
    const rows = await readCallbackResults(this.#options.database, arrays.values<ReadCallbackResults>(2));
    return rows.map((row) => toFinished(row));
  }

  remove({ tenantId, executionId }: CallbackKey): Promise<void> {
    return this.#removals.add({ tenantId, executionId }, false);
  }

  drain(deadline: AbortSignal): Promise<void> {
    return this.#removals.drain(deadline);
  }

  stop(): Promise<void> {
    this.#stopping.abort(executionStoreStopped({}));
    return this.#removals.stop();
  }

  /** Retries while the database is unavailable: a result that was delivered must not be sent again. */
  async #remove(keys: readonly CallbackKey[]): Promise<void> {
    const backOff = new BackOff(retryBackOff, this.#options);
    const sorted = keys.toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1));
    const arrays = new BinaryArrays();
    arrays.begin('uuid', sorted.length);
    for (const { executionId } of sorted) arrays.uuid(executionId);
    arrays.begin('text', sorted.length);
    for (const { tenantId } of sorted) arrays.text(tenantId);
    for (;;) {
      try {
        await removePendingCallbacks(this.#options.database, arrays.values<RemovePendingCallbacks>(2));
        return;
      } catch (error) {
        if (isRefusedByServer(error)) throw error;
        await backOff.wait(this.#stopping.signal);
      }
    }
  }
}

/** Writes `CallbackColumns`. */
export function writePendingCallbacks(arrays: BinaryArrays, items: readonly ArchiveItem[], now: number): void {
  const { length } = items;
  arrays.begin('uuid', length);
  for (const { accepted } of items) arrays.uuid(accepted.executionId);
  arrays.begin('text', length);
  for (const { accepted } of items) arrays.text(accepted.tenantId);
  arrays.begin('integer', length);
  for (const { partition } of items) arrays.integer(partition);
  arrays.begin('timestamptz', length);
  for (let index = 0; index < length; index += 1) arrays.timestamptz(now + dueForMs);
}
