import { defaultRecordLimits, type RecordLimits } from '@drover/collection-engine';
import { databaseVariables } from '@drover/database';
import { edgeVariables, publicPortLimits, type PortLimits } from '@drover/http-edge';
import {
  integer,
  milliseconds,
  optionalText,
  optionalUrl,
  parseConfiguration,
  port,
  secret,
  text,
  type Configuration,
  type Environment,
} from '@drover/service-kit';

/** A limit of the records API, as a variable with the default of the engine. */
function limit(name: string, key: keyof RecordLimits, max: number, about: string) {
  return integer(`DROVER_RECORDS_${name}`, { min: 1, max, default: defaultRecordLimits[key], about });
}

const { databaseStatementTimeoutMs: _ofRecords, ...databaseVariablesOfWorker } = databaseVariables;

/** How the worker takes part in the assignment of collections; the names without a prefix are those that Kubernetes manifests use. */
const membershipVariables = {
  controlPlaneUrl: optionalUrl('CONTROL_PLANE_URL', {
    about:
      'Where the collection worker registers. It then serves the collections that the control plane assigns to it. Unset: it serves every collection.',
  }),
  controlPlaneUrlFile: optionalText('CONTROL_PLANE_URL_FILE', {
    about: 'A file that holds that address once the control plane is there. `drover up` sets it.',
  }),
  workerJoinKey: secret('DROVER_WORKER_JOIN_KEY', {
    about: 'API key of scope `workers:join` with which the worker registers.',
  }),
  workerId: optionalText('WORKER_ID', {
    about: 'Name of the collection worker, unique among all. Unset: `POD_NAME`, or a random one.',
  }),
  workerPool: text('WORKER_POOL', {
    default: 'default',
    about: 'Pool of workers that the collection worker belongs to.',
  }),
  workerCapacity: integer('WORKER_CAPACITY', {
    min: 1,
    max: 100_000,
    default: 50,
    about: 'Most collections that are assigned to the collection worker. `drover up` sets 100000 unless it is set.',
  }),
  tenantAffinity: optionalText('TENANT_AFFINITY', {
    about: 'The tenant whose collections the worker serves. Unset: those of every tenant.',
  }),
  workerZone: optionalText('WORKER_ZONE', {
    about: 'Zone or machine of the worker: replicas of a collection are put in different ones.',
  }),
  workerLabels: optionalText('WORKER_LABELS', {
    about: 'Labels that the API shows with the worker: `name=value,name=value`.',
  }),
  podName: optionalText('POD_NAME', { about: 'Name of the pod, which the API shows with the worker.' }),
  namespace: optionalText('NAMESPACE', { about: 'Namespace of the pod, which the API shows with the worker.' }),
  workerUrl: optionalUrl('WORKER_URL', {
    about:
      'Address at which gateways reach the worker. Unset: its host and port; the name of the machine if it listens on every interface.',
  }),
  handoverMs: milliseconds('DROVER_COLLECTION_WORKER_HANDOVER_MS', {
    max: 3_600_000,
    default: 20_000,
    about:
      'How long a collection worker that is told to stop serves on at most, until other workers have taken over its collections. A part of `DROVER_DRAIN_TIMEOUT_MS`.',
  }),
};

export const collectionWorkerVariables = {
  ...databaseVariablesOfWorker,
  ...membershipVariables,
  recordsHost: text('DROVER_COLLECTION_WORKER_HOST', {
    default: '127.0.0.1',
    about: 'Address of the HTTP server of the records API.',
  }),
  recordsPort: port('DROVER_COLLECTION_WORKER_PORT', {
    default: 7073,
    about: 'Port of the records API; 0 for any free one. `drover up` takes any free one unless it is set.',
  }),
  socketDirectory: optionalText('DROVER_WORKER_SOCKET_DIR', {
    about:
      'Directory, of at most 90 characters, in which the worker also listens on a Unix socket for gateways on the same machine: such a request costs less, and one that a killed worker had not read is sent to another worker. Only trusted users may have access to it. `drover up` sets it.',
  }),
  ...edgeVariables,
  recordsConnections: integer('DROVER_COLLECTION_WORKER_MAX_CONNECTIONS', {
    min: 1,
    max: 1_000_000,
    default: publicPortLimits.connections,
    about: 'Open connections of the collection worker. Health probes are answered beyond that.',
  }),
  secretsKey: secret('DROVER_SECRETS_KEY', {
    about:
      'Encrypts ENCRYPTED fields: 32 random bytes as base64 or hex, or any other text of at least 16 characters. Must be the same as that of the control plane.',
  }),
  bodyBytes: limit('BODY_LIMIT_BYTES', 'bodyBytes', 268_435_456, 'Maximum size of a request body; imports have none.'),
  statementTimeoutMs: milliseconds('DROVER_RECORDS_STATEMENT_TIMEOUT_MS', {
    min: 100,
    max: 600_000,
    default: defaultRecordLimits.statementTimeoutMs,
    about: 'Time limit of one statement of the records API, lock waits included.',
  }),
  compressFromBytes: integer('DROVER_RECORDS_COMPRESS_FROM_BYTES', {
    min: 0,
    max: 1_073_741_824,
    default: 2_048,
    about:
      'Answers of at least so many characters are compressed (br or gzip) for clients that accept it, and exports always. 0: none. At most as many at a time as half of the cores; further ones go out as they are.',
  }),
  pageSize: limit('MAX_PAGE_SIZE', 'pageSize', 100_000, 'Most records of one page.'),
  includeDepth: limit('MAX_INCLUDE_DEPTH', 'includeDepth', 10, 'Longest path of relations in `include` and filters.'),
  included: limit('MAX_INCLUDED', 'included', 1_000_000, 'Most included records of one response.'),
  conditions: limit('MAX_CONDITIONS', 'conditions', 1_000, 'Most conditions of one filter.'),
  listValues: limit('MAX_LIST_VALUES', 'listValues', 100_000, 'Most values of one `in` of a filter.'),
  operations: limit('MAX_OPERATIONS', 'operations', 10_000, 'Most operations of one atomic request.'),
  bulkRows: limit('MAX_BULK_ROWS', 'bulkRows', 1_000_000, 'Most records that one request creates, changes or deletes.'),
};

export type CollectionWorkerConfig = Configuration<typeof collectionWorkerVariables>;

export function parseCollectionWorkerConfig(environment: Environment): CollectionWorkerConfig {
  return parseConfiguration('collection-worker', collectionWorkerVariables, environment);
}

export function recordPortLimits({
  writeTimeoutMs,
  recordsConnections: connections,
}: CollectionWorkerConfig): PortLimits {
  return { ...publicPortLimits, writeMs: writeTimeoutMs, connections, connectionsPerClient: connections };
}

export function recordLimits(config: CollectionWorkerConfig): RecordLimits {
  const { pageSize, includeDepth, included, conditions, listValues, operations, bulkRows } = config;
  const { bodyBytes, statementTimeoutMs } = config;
  return {
    pageSize,
    includeDepth,
    included,
    conditions,
    listValues,
    operations,
    bulkRows,
    bodyBytes,
    statementTimeoutMs,
  };
}
