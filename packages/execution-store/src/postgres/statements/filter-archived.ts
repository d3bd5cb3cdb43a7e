import { defineStatement } from './define-statement.js';

export type FilterArchived = readonly [tenantIds: Buffer, executionIds: Buffer];

/** Returns those of the executions that the archive has, expired or not. */
export const filterArchived = defineStatement<FilterArchived, { readonly execution_id: string }>(
  'execution-archived',
  `select asked.execution_id from unnest($1::text[], $2::uuid[]) as asked (tenant_id, execution_id)
   join drover.executions using (tenant_id, execution_id)`,
);
