import { defineStatement } from './define-statement.js';

/** The sum is stored in the row of this partition. */
export type RecountPayloadBytes = readonly [ownPartition: number];

export const recountPayloadBytes = defineStatement<RecountPayloadBytes, object>(
  'executions-recount',
  'select drover.recount_execution_bytes($1)',
);
