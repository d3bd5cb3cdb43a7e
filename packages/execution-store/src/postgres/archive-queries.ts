import type { TenantId } from '@drover/contracts';
import type { Database } from '@drover/database';
import type { ExecutionFilter } from '../execution-store.js';
import type { FinishedExecution, KeyBinding } from '../execution.js';
import { toFinished } from './archive-rows.js';
import {
  archivedColumns,
  findArchivedExecution,
  markRedriven,
  readKeyBindings,
  type ArchivedRow,
} from './statements/archive-queries.js';
import { fromColumn, toColumn } from './text-columns.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export async function findExecution(
  database: Database,
  tenantId: TenantId,
  executionId: string,
  now: number,
): Promise<FinishedExecution | undefined> {
  if (!uuid.test(executionId)) return undefined;
  const [row] = await findArchivedExecution(database, [tenantId, executionId, new Date(now)]);
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
  const rows = await markRedriven(database, [tenantId, executionId, redrivenAs, new Date(now)]);
  return rows.length === 1;
}

/** Reads the idempotency keys of executions that have ended, as long as they are bound. */
export async function liveKeyBindings(
  database: Database,
  partitions: readonly number[],
  now: number,
  ttlMs: number,
): Promise<readonly KeyBinding[]> {
  const rows = await readKeyBindings(database, [partitions, new Date(now), ttlMs]);
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
  const rows = await database.query<ArchivedRow>(text, values);
  return rows.map((row) => toFinished(row));
}

/** Counts the dead letters that the filter selects. */
export async function countDeadLetters(database: Database, filter: ExecutionFilter, now: number): Promise<number> {
  const { conditions, values } = toConditions({ ...filter, deadLettersOnly: true }, now);
  const text = `select count(*)::integer as letters from drover.executions where ${conditions.join(' and ')}`;
  const [row] = await database.query<{ letters: number }>(text, values);
  return row?.letters ?? 0;
}

/**
 * Lets dead letters expire. The maintenance removes their rows when the journal no longer has their entries: without the row, an entry
 * would run again after a crash.
 */
export async function deleteDeadLetters(database: Database, filter: ExecutionFilter, now: number): Promise<number> {
  const { conditions, values } = toConditions({ ...filter, deadLettersOnly: true }, now);
  values.push(filter.limit);
  const text = `update drover.executions set dead_letter = false, expires_at = $2
     where (tenant_id, execution_id) in (
       select tenant_id, execution_id from drover.executions where ${conditions.join(' and ')}
       order by execution_id limit $${values.length} for update
     ) returning 1 as done`;
  return (await database.query<{ done: number }>(text, values)).length;
}

const endStatuses = ['success', 'error', 'timeout', 'cancelled'];
const deadLetterStatuses = ['error', 'timeout'];

/** The one statement that is built at run time: each filter has conditions of its own. */
export function listQuery(
  filter: ExecutionFilter,
  now: number,
): { readonly text: string; readonly values: readonly unknown[] } {
  const { conditions, values } = toConditions(filter, now);
  values.push(filter.limit);
  const page = `order by execution_id ${filter.oldestFirst ? 'asc' : 'desc'} limit $${values.length}`;
  const matching = `select ${archivedColumns} from drover.executions where ${conditions.join(' and ')}`;
  if (!isOfFunctionOnly(filter)) return { text: `${matching} ${page}`, values };
  // The index of functions has the status before the id: one page of each status, merged, reads a page of each and no more.
  values.push(filter.deadLettersOnly ? deadLetterStatuses : endStatuses);
  const text = `select page.* from unnest($${values.length}::text[]) as kind (wanted)
     cross join lateral (${matching} and status = wanted ${page}) as page ${page}`;
  return { text, values };
}

/** Whether the function is the most selective condition. */
function isOfFunctionOnly({ functionName, status, traceId, idempotencyKey }: ExecutionFilter): boolean {
  return functionName !== undefined && (status ?? traceId ?? idempotencyKey) === undefined;
}

/** How far the time in an id may be from the time of acceptance. */
const idSkewMs = 60_000;

function toConditions(filter: ExecutionFilter, now: number): { conditions: string[]; values: unknown[] } {
  const values: unknown[] = [filter.tenantId, new Date(now)];
  const conditions = ['tenant_id = $1', 'expires_at > $2'];
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  const { functionName, status, from, to, idempotencyKey, traceId, after, executionIds, errorCode } = filter;
  if (functionName !== undefined) add((p) => `function_name = ${p}`, functionName);
  if (status !== undefined) add((p) => `status = ${p}`, status);
  // Implied by the other conditions, but the planner needs the exact predicate of the partial index.
  if ((status !== undefined && status !== 'success') || filter.deadLettersOnly) conditions.push(`status <> 'success'`);
  if (filter.deadLettersOnly) conditions.push('dead_letter and redriven_as is null');
  if (executionIds)
    add(
      (p) => `execution_id = any(${p}::uuid[])`,
      executionIds.filter((id) => uuid.test(id)),
    );
  if (errorCode !== undefined) add((p) => `rest::jsonb #>> '{outcome,error,code}' = ${p}`, toColumn(errorCode));
  if (idempotencyKey !== undefined) add((p) => `idempotency_key = ${p}`, toColumn(idempotencyKey));
  if (traceId !== undefined) add((p) => `trace_id = ${p}`, toColumn(traceId));
  // Ids begin with the time, so the primary key narrows the search.
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

/** The lowest version 7 UUID of a millisecond. */
function firstIdAt(timeMs: number): string {
  const hex = Math.min(Math.max(0, Math.floor(timeMs)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
