import type { CollectionWorkerStatus } from '@drover/contracts';
import { count, seconds, type Readers } from '@drover/service-kit';

export type AssignmentObservation =
  | {
      readonly kind: 'collection-worker.status-changed';
      readonly workerId: string;
      readonly status: CollectionWorkerStatus;
    }
  /** Its CPU is used up, or is not any more. */
  | { readonly kind: 'collection-worker.overloaded'; readonly workerId: string; readonly isOverloaded: boolean }
  /** A worker could not prepare a collection, which leaves it. */
  | {
      readonly kind: 'assignments.given-up';
      readonly collection: string;
      readonly workerId: string;
      readonly problem: string;
    }
  | {
      readonly kind: 'assignments.passed';
      readonly assigned: number;
      /** Of the assigned ones, those that take a collection over from another worker. */
      readonly moved: number;
      readonly drained: number;
      readonly removed: number;
      readonly routes: number;
      readonly unassigned: number;
      readonly durationMs: number;
    }
  /** Another number of collections lacks a worker than at the last pass, or they do for another reason. */
  | { readonly kind: 'assignments.unassigned'; readonly unassigned: number; readonly isWorkerReady: boolean }
  | { readonly kind: 'assignments.pass-failed'; readonly error: unknown };

export const assignmentReaders: Readers<AssignmentObservation> = {
  'collection-worker.status-changed': {
    level: (o) => (o.status === 'OFFLINE' || o.status === 'FAILED' ? 'warn' : 'info'),
    say: (o) => `collection worker ${o.workerId} is ${o.status}`,
    isInternal: true,
    metrics: [
      count('drover_collection_worker_changes_total', 'Changes of the status of collection workers', {
        labelNames: ['status'],
        labels: (o) => ({ status: o.status }),
      }),
    ],
  },
  'collection-worker.overloaded': {
    level: (o) => (o.isOverloaded ? 'warn' : 'info'),
    say: (o) => `collection worker ${o.workerId} is ${o.isOverloaded ? '' : 'no longer '}overloaded`,
    metrics: [
      count('drover_collection_worker_overloads_total', 'Times that collection workers became overloaded', {
        value: (o) => Number(o.isOverloaded),
      }),
    ],
  },
  'assignments.given-up': {
    level: 'warn',
    say: (o) =>
      `collection worker ${o.workerId} cannot prepare the collection ${o.collection}: ${o.problem}; it is served or tried on another worker`,
    metrics: [
      count('drover_assignments_given_up_total', 'Collections that left a worker which could not prepare them'),
    ],
  },
  'assignments.passed': {
    level: 'debug',
    say: (o) =>
      `collections were assigned: ${o.assigned} to workers (${o.moved} of them moves), ${o.drained} drained, ${o.removed} removed, ${o.unassigned} wait for a worker`,
    metrics: [
      count('drover_assignments_total', 'Collections that were assigned to a worker', { value: (o) => o.assigned }),
      count('drover_assignment_moves_total', 'Assignments that take a collection over from another worker', {
        value: (o) => o.moved,
      }),
      seconds('drover_assignment_pass_seconds', 'Time to decide which worker serves which collection', {
        valueMs: (o) => o.durationMs,
      }),
    ],
  },
  'assignments.unassigned': {
    level: (o) => (o.unassigned > 0 && o.isWorkerReady ? 'warn' : 'info'),
    isInternal: true,
    say: (o) => {
      if (o.unassigned === 0) return 'all collections have their collection workers';
      return o.isWorkerReady
        ? `${o.unassigned} collections lack a collection worker, because none has room for them`
        : `${o.unassigned} collections wait until a collection worker is ready`;
    },
  },
  'assignments.pass-failed': {
    level: 'warn',
    say: (o) => `collections could not be assigned to workers: ${String(o.error)}; this is tried again in a moment`,
    metrics: [count('drover_assignment_pass_failures_total', 'Passes over assignments that failed')],
  },
};
