import { assignmentStatuses, collectionWorkerStatuses } from '@drover/contracts';
import type { ComputedMetric } from '@drover/service-kit';
import type { PassResult } from './assignment-pass.js';

/** Gauges of all workers and assignments, as the last pass of this replica has found them: every replica shows the same. */
export function assignmentMetrics(read: () => PassResult | undefined): ComputedMetric[] {
  return [
    {
      name: 'drover_collection_workers',
      help: 'Collection workers by status',
      type: 'gauge',
      labelNames: ['status'],
      read: () =>
        collectionWorkerStatuses.map((status) => ({ labels: { status }, value: read()?.workers.get(status) ?? 0 })),
    },
    {
      name: 'drover_collection_assignments',
      help: 'Collections on collection workers by status',
      type: 'gauge',
      labelNames: ['status'],
      read: () =>
        assignmentStatuses
          .filter((status) => status !== 'REMOVED')
          .map((status) => ({ labels: { status }, value: read()?.assignments.get(status) ?? 0 })),
    },
    {
      name: 'drover_unassigned_collections',
      help: 'Collections that lack a collection worker because none fits',
      type: 'gauge',
      labelNames: [],
      read: () => [{ labels: {}, value: read()?.unassigned ?? 0 }],
    },
  ];
}
