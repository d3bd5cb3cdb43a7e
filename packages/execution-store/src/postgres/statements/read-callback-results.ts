import { archivedColumns, type ArchivedRow } from './archived-row.js';
import { defineStatement } from './define-statement.js';

export type ReadCallbackResults = readonly [tenantIds: Buffer, executionIds: Buffer];

/** Reads archived executions, expired or not, without their inputs. */
export const readCallbackResults = defineStatement<ReadCallbackResults, ArchivedRow>(
  'execution-callbacks-read',
  `select ${archivedColumns.replace('input,', 'null::text as input,')}
   from unnest($1::text[], $2::uuid[]) as asked (tenant_id, execution_id) join drover.executions using (tenant_id, execution_id)`,
);
