import { milliseconds, optionalUrl } from '@drover/service-kit';
import { defaultOwnershipTimings } from './ownership-timings.js';

export const ownershipVariables = {
  replicaUrl: optionalUrl('DROVER_REPLICA_URL', {
    about:
      'Where other replicas of the control plane reach this one; each needs its own, without a path. Unset: the address it listens on, which is right when all run on one machine.',
  }),
  ownershipTtlMs: milliseconds('DROVER_HOME_TTL_MS', {
    min: 1_000,
    max: 120_000,
    default: defaultOwnershipTimings.ttlMs,
    about:
      'After how long a replica that is frozen or cut off from the database loses its functions to the others. One whose process has ended loses them after about a second.',
  }),
  handoverMs: milliseconds('DROVER_HANDOVER_MS', {
    min: 0,
    max: 600_000,
    default: defaultOwnershipTimings.handoverMs,
    about:
      'How long running executions may hold up the move of their functions to another replica; then they are given up here and tried again there.',
  }),
};
