import { defineStatement } from './define-statement.js';

/** In the order of execution ids: all replicas lock rows in this order. */
export type RemovePendingCallbacks = readonly [executionIds: Buffer, tenantIds: Buffer];

export const removePendingCallbacks = defineStatement<RemovePendingCallbacks, object>(
  'execution-callbacks-remove',
  'select drover.remove_execution_callbacks($1, $2)',
);
