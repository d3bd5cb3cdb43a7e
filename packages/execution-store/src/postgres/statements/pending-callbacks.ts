import type { TenantId } from '@drover/contracts';
import { defineStatement } from './define-statement.js';
import { archivedColumns, type ArchivedRow } from './archive-queries.js';

export type ListPendingCallbacks = readonly [partitions: readonly number[], afterExecutionId: string, limit: number];

export interface PendingCallbackRow {
  readonly execution_id: string;
  readonly tenant_id: TenantId;
  readonly partition: number;
  readonly due_until: Date;
  readonly bytes: number;
}

/** Lists pending callbacks by execution id. The size of an output is known without reading it: a large one is stored out of line. */
export const listPendingCallbacks = defineStatement<ListPendingCallbacks, PendingCallbackRow>(
  'execution-callbacks-list',
  `select mark.execution_id, mark.tenant_id, mark.partition, mark.due_until, coalesce(octet_length(execution.output), 0) as bytes
   from (
     select execution_id, tenant_id, partition, due_until from drover.execution_callbacks
     where execution_id > $2 and partition = any($1::integer[]) order by execution_id limit $3
   ) as mark left join drover.executions execution using (execution_id, tenant_id) order by mark.execution_id`,
);

export type ReadCallbackResults = readonly [tenantIds: Buffer, executionIds: Buffer];

/** Reads archived executions, expired or not, without their inputs. */
export const readCallbackResults = defineStatement<ReadCallbackResults, ArchivedRow>(
  'execution-callbacks-read',
  `select ${archivedColumns.replace('input,', 'null::text as input,')}
   from unnest($1::text[], $2::uuid[]) as asked (tenant_id, execution_id) join drover.executions using (tenant_id, execution_id)`,
);

/** In the order of execution ids: all replicas lock rows in this order. */
export type RemovePendingCallbacks = readonly [executionIds: Buffer, tenantIds: Buffer];

export const removePendingCallbacks = defineStatement<RemovePendingCallbacks, object>(
  'execution-callbacks-remove',
  'select drover.remove_execution_callbacks($1, $2)',
);
