import type { TenantId } from '@drover/contracts';
import { prepared, type Database } from '@drover/database';
import type { ExecutionFilter, FinishedExecution, KeyBinding } from '../execution-store.js';
import { archiveColumns, toFinished, type StoredArchiveRow } from './archive-rows.js';
import { fromColumn, toColumn } from './quoted.js';

const findStatement = prepared(
  'execution-find',
  `select ${archiveColumns} from drover.executions where tenant_id = $1 and execution_id = $2 and expires_at > $3`,
);
const redriveStatement = prepared(
  'execution-redriven',
  `update drover.executions set redriven_as = $3
   where tenant_id = $1 and execution_id = $2 and dead_letter and redriven_as is null and expires_at > $4 returning 1 as done`,
);
const keysStatement = prepared(
  'execution-keys',
  `select tenant_id, function_name, generation, idempotency_key, execution_id, expires_at from drover.executions
   where idempotency_key is not null and partition = any($1::integer[]) and expires_at > $2`,
);

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export async function findExecution(
  database: Database,
  tenantId: TenantId,
  executionId: string,
  now: number,
): Promise<FinishedExecution | undefined> {
  if (!uuid.test(executionId)) return undefined;
  const [row] = await database.query<StoredArchiveRow>(findStatement, [tenantId, executionId, new Date(now)]);
  return row && toFinished(row);
}

export async function markExecutionRedriven(
  database: Database,
  tenantId: TenantId,
  executionId: string,
  redrivenAs: string,
  now: number,
): Promise<boolean> {
  if (!uuid.test(executionId)) return false;
  const rows = await database.query(redriveStatement, [tenantId, executionId, redrivenAs, new Date(now)]);
  return rows.length === 1;
}

/** Keys of executions that have ended, in these partitions, as long as they are bound. */
export async function liveKeyBindings(
  database: Database,
  partitions: readonly number[],
  now: number,
): Promise<readonly KeyBinding[]> {
  const rows = await database.query<
    Pick<StoredArchiveRow, 'tenant_id' | 'function_name' | 'generation' | 'execution_id'> & {
      readonly idempotency_key: string;
      readonly expires_at: Date;
    }
  >(keysStatement, [partitions, new Date(now)]);
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    functionName: row.function_name,
    generation: row.generation,
    idempotencyKey: fromColumn(row.idempotency_key),
    executionId: row.execution_id,
    expiresAt: row.expires_at.getTime(),
  }));
}

export async function listExecutions(
  database: Database,
  filter: ExecutionFilter,
  now: number,
): Promise<readonly FinishedExecution[]> {
  if (filter.after !== undefined && !uuid.test(filter.after)) return [];
  const { text, values } = listQuery(filter, now);
  const rows = await database.query<StoredArchiveRow>(text, values);
  return rows.map((row) => toFinished(row));
}

/** What a search asks of the database. */
export function listQuery(
  filter: ExecutionFilter,
  now: number,
): { readonly text: string; readonly values: readonly unknown[] } {
  const { conditions, values } = toConditions(filter, now);
  values.push(filter.limit);
  const text = `select ${archiveColumns} from drover.executions where ${conditions.join(' and ')}
     order by execution_id ${filter.oldestFirst ? 'asc' : 'desc'} limit $${values.length}`;
  return { text, values };
}

/** How far the time within an id may be from the time of acceptance. */
const idSkewMs = 60_000;

function toConditions(filter: ExecutionFilter, now: number): { conditions: string[]; values: unknown[] } {
  const values: unknown[] = [filter.tenantId, new Date(now)];
  const conditions = ['tenant_id = $1', 'expires_at > $2'];
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  const { functionName, status, from, to, idempotencyKey, traceId, after } = filter;
  if (functionName !== undefined) add((p) => `function_name = ${p}`, functionName);
  if (status !== undefined) add((p) => `status = ${p}`, status);
  // Said once more in the words of an index that holds only these.
  if ((status !== undefined && status !== 'success') || filter.deadLettersOnly) conditions.push(`status <> 'success'`);
  if (filter.deadLettersOnly) conditions.push('dead_letter and redriven_as is null');
  if (idempotencyKey !== undefined) add((p) => `idempotency_key = ${p}`, toColumn(idempotencyKey));
  if (traceId !== undefined) add((p) => `trace_id = ${p}`, toColumn(traceId));
  // Ids begin with the time, so that the primary key leads to the right part of the table.
  if (from !== undefined) {
    add((p) => `accepted_at >= ${p}`, new Date(from));
    add((p) => `execution_id >= ${p}`, firstIdAt(from - idSkewMs));
  }
  if (to !== undefined) {
    add((p) => `accepted_at < ${p}`, new Date(to));
    add((p) => `execution_id < ${p}`, firstIdAt(to + idSkewMs));
  }
  if (after !== undefined) add((p) => `execution_id ${filter.oldestFirst ? '>' : '<'} ${p}`, after);
  return { conditions, values };
}

/** The lowest UUID of version 7 of a millisecond. */
function firstIdAt(timeMs: number): string {
  const hex = Math.min(Math.max(0, Math.floor(timeMs)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
