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

type ReadKeyBindings = readonly [partitions: readonly number[], now: Date];

interface KeyBindingRow extends Pick<ArchivedRow, 'tenant_id' | 'function_name' | 'generation' | 'execution_id'> {
  readonly idempotency_key: string;
  readonly expires_at: Date;
}

/** Reads the idempotency keys of executions that have ended and have not expired. */
export const readKeyBindings = defineStatement<ReadKeyBindings, KeyBindingRow>(
  'execution-keys',
  `select tenant_id, function_name, generation, idempotency_key, execution_id, expires_at from drover.executions
   where idempotency_key is not null and partition = any($1::integer[]) and expires_at > $2`,
);
