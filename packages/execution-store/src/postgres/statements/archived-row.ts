import type { FinalExecutionState, TenantId } from '@drover/contracts';

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
