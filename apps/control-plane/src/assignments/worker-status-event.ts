import { workerStatusChanged, type CollectionWorkerStatus, type NewEvent } from '@drover/contracts';
import type { Transaction } from '@drover/database';

/** The caller holds the lock on the row of the worker, so that its events are published in the order of its states. */
export async function workerStatusEvent(
  tx: Transaction,
  workerId: string,
  status: CollectionWorkerStatus,
  collections: readonly string[],
): Promise<NewEvent> {
  const [row] = await tx.query<{ generation: number }>(`select nextval('drover.assignment_generations') as generation`);
  const payload = { workerId, status, collections };
  return { topic: workerStatusChanged, key: workerId, generation: row?.generation ?? 0, payload };
}
