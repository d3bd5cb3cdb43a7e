import { hasCode } from '@drover/contracts';
import { isUniqueViolation, prepared, type Queryable } from '@drover/database';
import type { OperationDependencies } from '../request/record-operation.js';
import type { RecordContext } from '../request/record-context.js';
import type { SavePlan } from '../write/save-records.js';
import { idempotencyKeyReused, uniqueViolation } from '../write/write-errors.js';

const findAnswer = prepared(
  'record-answer-find',
  'select fingerprint, answer from drover.record_idempotency_keys where tenant_id = $1 and key = $2',
);
const addAnswer = prepared(
  'record-answer-add',
  'insert into drover.record_idempotency_keys (tenant_id, key, fingerprint, answer) values ($1, $2, $3, $4)',
);

/**
 * Runs a transaction once per idempotency key, and remembers its results in it. Of two requests at the same time one fails: it
 * violates the primary key of the keys, or a unique field before that. All that it wrote is rolled back, and it answers with the
 * results of the other.
 */
export async function runRemembered(
  { tenantId }: Pick<RecordContext, 'tenantId'>,
  { key, fingerprint }: NonNullable<SavePlan['idempotency']>,
  run: (tx: Queryable) => Promise<string[]>,
  { database }: Pick<OperationDependencies, 'database'>,
): Promise<string[]> {
  const remembered = async (target: Queryable): Promise<string[] | undefined> => {
    const [used] = await target.query<{ fingerprint: string; answer: string }>(findAnswer, [tenantId, key]);
    if (used && used.fingerprint !== fingerprint) throw idempotencyKeyReused({ key });
    return used && (JSON.parse(used.answer) as string[]); // written below
  };
  try {
    return await database.transaction(async (tx) => {
      const before = await remembered(tx);
      if (before) return before;
      const results = await run(tx);
      await tx.query(addAnswer, [tenantId, key, fingerprint, JSON.stringify(results)]);
      return results;
    });
  } catch (error) {
    if (!isUniqueViolation(error) && !hasCode(error, uniqueViolation.code)) throw error;
    const other = await remembered(database);
    if (other) return other;
    throw error;
  }
}
