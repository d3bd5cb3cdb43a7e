import type { TenantId } from '@drover/contracts';
import { defineStatement } from './define-statement.js';

export type MarkRedriven = readonly [tenantId: TenantId, executionId: string, redrivenAs: string, now: Date];

/** Returns one row if the execution is a dead letter that was not redriven before, and none otherwise. */
export const markRedriven = defineStatement<MarkRedriven, { readonly done: number }>(
  'execution-redriven',
  `update drover.executions set redriven_as = $3
   where tenant_id = $1 and execution_id = $2 and dead_letter and redriven_as is null and expires_at > $4 returning 1 as done`,
);
