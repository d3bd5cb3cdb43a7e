import type { TenantId } from '@drover/contracts';
import { GroupCommit, isRefusedByServer, prepared, type Database, type DatabaseIo } from '@drover/database';
import { BackOff } from '@drover/service-kit';
import type { CallbackMark, CallbackMarks } from '../callback-marks.js';
import { executionStoreFull, executionStoreStopped } from '../errors.js';
import type { FinishedExecution } from '../execution-store.js';
import { archiveColumns, toFinished, type ArchiveRow, type StoredArchiveRow } from './archive-rows.js';
import { BinaryArrays } from './binary-arrays.js';

export interface PostgresCallbackMarksOptions extends DatabaseIo {
  readonly database: Database;
}

/** A receiver, or the platform itself, may be away for a night. */
const dueForMs = 86_400_000;

// The size is known without the output itself, which is stored apart when it is large.
const listStatement = prepared(
  'execution-callbacks-list',
  `select mark.execution_id, mark.tenant_id, mark.partition, mark.due_until, coalesce(octet_length(execution.output), 0) as bytes
   from (
     select execution_id, tenant_id, partition, due_until from drover.execution_callbacks
     where execution_id > $2 and partition = any($1::integer[]) order by execution_id limit $3
   ) as mark left join drover.executions execution using (execution_id, tenant_id) order by mark.execution_id`,
);
const readStatement = prepared(
  'execution-callbacks-read',
  `select ${archiveColumns.replace('input,', 'null::text as input,')}
   from unnest($1::text[], $2::uuid[]) as asked (tenant_id, execution_id) join drover.executions using (tenant_id, execution_id)`,
);
const removeStatement = prepared('execution-callbacks-remove', 'select drover.remove_execution_callbacks($1, $2)');

const lowestId = '00000000-0000-0000-0000-000000000000';
const markBytes = 128;
const maxWaitingBytes = 67_108_864;
/** Nobody waits for it, and a mark that is removed too late costs nothing but its place. */
const linger = { ms: 50, items: 250 };
const retryBackOff = { firstMs: 100, maxMs: 5_000, factor: 2 };

type Gone = Pick<CallbackMark, 'tenantId' | 'executionId'>;

/** Marks in a table of their own, which is empty where nobody asks for callbacks. They are written by the archive. */
export class PostgresCallbackMarks implements CallbackMarks {
  readonly #options: PostgresCallbackMarksOptions;
  readonly #commits: GroupCommit<Gone>;
  readonly #stopping = new AbortController();

  constructor(options: PostgresCallbackMarksOptions) {
    this.#options = options;
    this.#commits = new GroupCommit({
      name: 'execution-callbacks',
      clock: options.clock,
      observe: options.observe,
      write: (items) => this.#remove(items),
      bytesOf: () => markBytes,
      linger,
      maxBytes: 1_048_576,
      maxWaitingItems: Number.POSITIVE_INFINITY,
      maxWaitingBytes,
      full: ({ heldBytes }) => executionStoreFull({ waitingBytes: heldBytes, limitBytes: maxWaitingBytes }),
      stopped: () => executionStoreStopped({}),
    });
  }

  async list(
    partitions: readonly number[],
    after: string | undefined,
    limit: number,
  ): Promise<readonly CallbackMark[]> {
    const rows = await this.#options.database.query<{
      execution_id: string;
      tenant_id: TenantId;
      partition: number;
      due_until: Date;
      bytes: number;
    }>(listStatement, [partitions, after ?? lowestId, limit]);
    return rows.map((row) => ({
      executionId: row.execution_id,
      tenantId: row.tenant_id,
      partition: row.partition,
      dueUntil: row.due_until.getTime(),
      bytes: row.bytes,
    }));
  }

  async read(marks: readonly CallbackMark[]): Promise<readonly FinishedExecution[]> {
    if (marks.length === 0) return [];
    const arrays = new BinaryArrays();
    arrays.begin('text', marks.length);
    for (const { tenantId } of marks) arrays.text(tenantId);
    arrays.begin('uuid', marks.length);
    for (const { executionId } of marks) arrays.uuid(executionId);
    const rows = await this.#options.database.query<StoredArchiveRow>(readStatement, arrays.values());
    return rows.map((row) => toFinished(row));
  }

  remove({ tenantId, executionId }: Gone): Promise<void> {
    return this.#commits.add({ tenantId, executionId }, false);
  }

  drain(deadline: AbortSignal): Promise<void> {
    return this.#commits.drain(deadline);
  }

  stop(): Promise<void> {
    this.#stopping.abort(executionStoreStopped({}));
    return this.#commits.stop();
  }

  /** Again and again while the database is away: what was taken is not to be sent again. */
  async #remove(items: readonly Gone[]): Promise<void> {
    const backOff = new BackOff(retryBackOff, this.#options);
    // Locks are taken in this order, by everybody.
    const sorted = items.toSorted((a, b) => (a.executionId < b.executionId ? -1 : 1));
    const arrays = new BinaryArrays();
    arrays.begin('uuid', sorted.length);
    for (const { executionId } of sorted) arrays.uuid(executionId);
    arrays.begin('text', sorted.length);
    for (const { tenantId } of sorted) arrays.text(tenantId);
    for (;;) {
      try {
        await this.#options.database.query(removeStatement, arrays.values());
        return;
      } catch (error) {
        if (isRefusedByServer(error)) throw error;
        await backOff.wait(this.#stopping.signal);
      }
    }
  }
}

/** Those whose results somebody elsewhere wants. */
export function withCallback<Row extends ArchiveRow>(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ accepted }) => accepted.callbackUrl !== undefined);
}

/** Writes the last columns of `drover.archive_executions_with_callbacks`. */
export function writeCallbackMarks(arrays: BinaryArrays, rows: readonly ArchiveRow[], now: number): void {
  const { length } = rows;
  arrays.begin('uuid', length);
  for (const { accepted } of rows) arrays.uuid(accepted.executionId);
  arrays.begin('text', length);
  for (const { accepted } of rows) arrays.text(accepted.tenantId);
  arrays.begin('integer', length);
  for (const { partition } of rows) arrays.integer(partition);
  arrays.begin('timestamptz', length);
  for (let index = 0; index < length; index += 1) arrays.timestamptz(now + dueForMs);
}
