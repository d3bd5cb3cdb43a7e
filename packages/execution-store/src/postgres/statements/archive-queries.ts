import type { FinalExecutionState, TenantId } from '@drover/contracts';
import { defineStatement } from './define-statement.js';

/** The columns of `ArchivedRow`. */
export const archivedColumns = `tenant_id, execution_id, function_name, generation, status, accepted_at, finished_at,
  idempotency_key, trace_id, dead_letter, evicted, redriven_as, input, output, rest`;

/** A row of `drover.executions`, as it is read. */
export interface ArchivedRow {
  readonly tenant_id: TenantId;
  readonly execution_id: string;
  readonly function_name: string;
  readonly generation: number;
  readonly status: FinalExecutionState;
  readonly accepted_at: Date;
  readonly finished_at: Date;
  readonly idempotency_key: string | null;
  readonly trace_id: string | null;
  readonly dead_letter: boolean;
  readonly evicted: boolean;
  readonly redriven_as: string | null;
  readonly input: string | null;
  readonly output: string | null;
  readonly rest: string;
}

type FindExecution = readonly [tenantId: TenantId, executionId: string, now: Date];

export const findArchivedExecution = defineStatement<FindExecution, ArchivedRow>(
  'execution-find',
  `select ${archivedColumns} from drover.executions where tenant_id = $1 and execution_id = $2 and expires_at > $3`,
);

type MarkRedriven = readonly [tenantId: TenantId, executionId: string, redrivenAs: string, now: Date];

/** Returns one row if the execution is a dead letter that was not redriven before, and none otherwise. */
export const markRedriven = defineStatement<MarkRedriven, { readonly done: number }>(
  'execution-redriven',
  `update drover.executions set redriven_as = $3
   where tenant_id = $1 and execution_id = $2 and dead_letter and redriven_as is null and expires_at > $4 returning 1 as done`,
);

type ReadKeyBindings = readonly [partitions: readonly number[], now: Date, ttlMs: number];

interface KeyBindingRow extends Pick<ArchivedRow, 'tenant_id' | 'function_name' | 'generation' | 'execution_id'> {
  readonly idempotency_key: string;
  readonly expires_at: Date;
}

/**
 * Reads the idempotency keys that are bound to executions that have ended, in the order of their expiry. A dead letter is stored longer
 * than its key is bound. Failures that may pass bind no key, nor do failures that were replayed. A success is never replayed. The flag
 * is the last property in `rest`, which is compared as text: PostgreSQL cannot convert JSON with a NUL in it.
 */
export const readKeyBindings = defineStatement<ReadKeyBindings, KeyBindingRow>(
  'execution-keys',
  `select tenant_id, function_name, generation, idempotency_key, execution_id, key_expires_at as expires_at from (
     select ended.*, case when dead_letter then finished_at + $3 * interval '1 millisecond' else expires_at end as key_expires_at
     from drover.executions ended
     where idempotency_key is not null and partition = any($1::integer[]) and expires_at > $2
   ) as keyed
   where key_expires_at > $2 and (status = 'success' or (
     rest not like '%"isTransient":true}}' and not exists (
       select from drover.executions newer
       where newer.tenant_id = keyed.tenant_id and newer.idempotency_key = keyed.idempotency_key
         and newer.function_name = keyed.function_name and newer.generation = keyed.generation
         and newer.execution_id > keyed.execution_id)))
   order by key_expires_at`,
);
