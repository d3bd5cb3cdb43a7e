import type { ArchivedRow } from './archived-row.js';
import { defineStatement } from './define-statement.js';

export type ReadKeyBindings = readonly [partitions: readonly number[], now: Date];

export interface KeyBindingRow
  extends Pick<ArchivedRow, 'tenant_id' | 'function_name' | 'generation' | 'execution_id'> {
  readonly idempotency_key: string;
  readonly expires_at: Date;
}

/** Reads the idempotency keys of executions that have ended and have not expired. */
export const readKeyBindings = defineStatement<ReadKeyBindings, KeyBindingRow>(
  'execution-keys',
  `select tenant_id, function_name, generation, idempotency_key, execution_id, expires_at from drover.executions
   where idempotency_key is not null and partition = any($1::integer[]) and expires_at > $2`,
);
