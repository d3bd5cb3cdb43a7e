import { integer, milliseconds, oneOf, VariableProblem, type Variable } from '@drover/service-kit';

const poolsName = 'DROVER_TENANT_POOLS';

const tenantPools: Variable<ReadonlyMap<string, string>> = {
  name: poolsName,
  about:
    'Pools of collection workers (`WORKER_POOL`) for tenants, comma separated: `tenant=pool`. A tenant without an entry has the pool of the workers with its id as `TENANT_AFFINITY`, or the pool `default`. Must be the same on every replica.',
  expects: 'tenant=pool, comma separated',
  read(environment) {
    const entries = (environment[poolsName] ?? '').split(',').map((entry) => entry.trim());
    const pairs = entries.filter((entry) => entry !== '').map((entry) => entry.split('=').map((part) => part.trim()));
    return new Map(
      pairs.map(([tenant, pool, ...rest]): [string, string] => {
        if (tenant && pool && rest.length === 0) return [tenant, pool];
        throw new VariableProblem(`${poolsName} has the entry "${tenant}"; write tenant=pool, separated by commas`);
      }),
    );
  },
};

export const assignmentVariables = {
  collectionReplicas: integer('DROVER_COLLECTION_REPLICAS', {
    min: 1,
    max: 20,
    default: 2,
    about: 'Collection workers that serve a collection at the same time, if the pool of its tenant has as many.',
  }),
  collectionPlacement: oneOf('DROVER_COLLECTION_PLACEMENT', ['spread', 'together'], {
    default: 'spread',
    about:
      'Whether collections of a tenant go to different collection workers (a worker that fails concerns few of them) or to the same ones (caches and connections are shared), where the load allows both.',
  }),
  collectionRestMs: milliseconds('DROVER_COLLECTION_REST_MS', {
    default: 300_000,
    about: 'A collection that was assigned to a worker this recently is not moved for a better balance.',
  }),
  tenantPools,
  workerHeartbeatMs: milliseconds('DROVER_WORKER_HEARTBEAT_MS', {
    min: 100,
    max: 600_000,
    default: 15_000,
    about: 'How often collection workers send heartbeats.',
  }),
  workerStaleMs: milliseconds('DROVER_WORKER_STALE_MS', {
    min: 500,
    max: 3_600_000,
    default: 45_000,
    about:
      'A collection worker without a heartbeat for this long is `OFFLINE`: others get its collections. Should be three times `DROVER_WORKER_HEARTBEAT_MS`.',
  }),
};
