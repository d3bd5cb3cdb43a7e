import { defaultRecordLimits, type RecordLimits } from '@drover/collection-engine';
import { databaseVariables } from '@drover/database';
import { edgeVariables, publicPortLimits, type PortLimits } from '@drover/http-edge';
import {
  integer,
  milliseconds,
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

export const collectionWorkerVariables = {
  ...databaseVariablesOfWorker,
  recordsHost: text('DROVER_COLLECTION_WORKER_HOST', {
    default: '127.0.0.1',
    about: 'Address of the HTTP server of the records API.',
  }),
  recordsPort: port('DROVER_COLLECTION_WORKER_PORT', {
    default: 7073,
    about: 'Port of the records API; 0 for any free one. `drover up` takes any free one unless it is set.',
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
