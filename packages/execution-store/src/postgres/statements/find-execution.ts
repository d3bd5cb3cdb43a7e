import type { TenantId } from '@drover/contracts';
import { archivedColumns, type ArchivedRow } from './archived-row.js';
import { defineStatement } from './define-statement.js';

export type FindExecution = readonly [tenantId: TenantId, executionId: string, now: Date];

export const findArchivedExecution = defineStatement<FindExecution, ArchivedRow>(
  'execution-find',
  `select ${archivedColumns} from drover.executions where tenant_id = $1 and execution_id = $2 and expires_at > $3`,
);
