import { milliseconds, optionalUrl } from '@drover/service-kit';
import { defaultOwnershipTimings } from './ownership-timings.js';

export const ownershipVariables = {
  replicaUrl: optionalUrl('DROVER_REPLICA_URL', {
    about:
      'URL, without a path, at which other replicas of the control plane reach this one. Each replica needs its own. Unset: the address it listens on, which works when all replicas run on one machine.',
  }),
  ownershipTtlMs: milliseconds('DROVER_HOME_TTL_MS', {
    min: 1_000,
    max: 120_000,
    default: defaultOwnershipTimings.ttlMs,
    about:
      'How long a replica that is frozen or cut off from the database keeps its functions before other replicas take them over. The functions of a replica whose process has ended move after about a second.',
  }),
  handoverMs: milliseconds('DROVER_HANDOVER_MS', {
    min: 0,
    max: 600_000,
    default: defaultOwnershipTimings.handoverMs,
    about:
      'How long running executions may delay the move of their functions to another replica. After that they are aborted here and attempted again there.',
  }),
};
