import { availableParallelism } from 'node:os';
import {
  ApiKeyStore,
  Authenticator,
  collectionMigrations,
  CollectionStore,
  FieldCipher,
  PreparedStatements,
} from '@drover/collection-engine';
import { awaitSchema, Database, DatabaseProbe, schemaVersions } from '@drover/database';
import { PostgresEventBus } from '@drover/event-bus';
import { LocalSocket, probes, RequestDurations, requestMetrics } from '@drover/http-edge';
import {
  createObserve,
  inOrder,
  type Composition,
  type Lifecycle,
  type ProcessDescription,
  type ProcessIo,
} from '@drover/service-kit';
import { parseCollectionWorkerConfig, recordLimits, recordPortLimits, type CollectionWorkerConfig } from './config.js';
import { CollectionDirectory } from './directory/collection-directory.js';
import { collectionWorkerReaders } from './observations.js';
import { composeMembership } from './compose-membership.js';
import { composeRecordService } from './compose-record-service.js';
import { AnswerCompressor } from './serving/answer-compressor.js';
import { RecordRequests } from './serving/record-requests.js';
import { RecordServer } from './serving/record-server.js';

/** The composition root of the collection worker. */
export function composeCollectionWorker(
  config: CollectionWorkerConfig,
  { sinks, health, clock, randomness }: ProcessIo,
): Composition {
  const observe = createObserve(collectionWorkerReaders, sinks);
  const io = { clock, randomness, observe };
  const limits = recordLimits(config);
  const database = openDatabase(config, io);
  const probe = new DatabaseProbe(database, clock);
  health.addCheck('database', () => probe.problem());
  const bus = new PostgresEventBus({ database, ...io });
  const authenticator = new Authenticator(new ApiKeyStore(database, bus), bus, clock);
  const store = new CollectionStore({ database, bus });
  const directory = new CollectionDirectory({ store, database, bus, clock });
  const membership = composeMembership(config, {
    database,
    bus,
    directory,
    metrics: sinks.metrics,
    problem: () => probe.problem(),
    ...io,
  });
  const draining = new AbortController();
  const durations = new RequestDurations();
  sinks.metrics.compute(requestMetrics(() => durations));
  const records = composeRecordService({ database, store, ...io });
  const requests = new RecordRequests({
    service: records.service,
    dependencies: {
      database,
      find: directory.find,
      findReferrers: directory.findReferrers,
      statements: new PreparedStatements({ onReplaced: (name) => database.forgetStatement(name) }),
      cipher: new FieldCipher(config.secretsKey, randomness),
      clock,
      randomness,
    },
    directory,
    authenticator,
    limits,
    draining: draining.signal,
    use: membership?.use,
    onWritten: records.onWritten,
    observe,
  });
  const server = new RecordServer({
    host: config.recordsHost,
    port: config.recordsPort,
    limits: recordPortLimits(config),
    hasFastLane: config.fastLane === 'on',
    requests,
    serveProbe: probes({ health, metrics: sinks.metrics }),
    isEnding: () => health.state === 'draining',
    isTraced: sinks.spans !== undefined || sinks.log.isLevelEnabled('debug'),
    durations,
    compressor: new AnswerCompressor({ fromBytes: config.compressFromBytes, maxConcurrent: compressionThreads() }),
    use: membership?.use,
    ...io,
  });
  const onUnusable = (socket: { readonly file: string; readonly reason: string }): void =>
    observe({ kind: 'worker.socket-unusable', ...socket });
  const localSocket = config.socketDirectory
    ? [new LocalSocket({ directory: config.socketDirectory, server, onUnusable })]
    : [];
  const member = membership?.join(server);
  if (member) health.addNotice('control plane', () => member.problem());
  return {
    life: inOrder('collection worker', [
      database,
      awaitSchema({
        isThere: () => hasCollectionTables(database),
        clock,
        onWait: () => observe({ kind: 'collections.schema-awaited' }),
      }),
      probe,
      bus,
      authenticator,
      directory,
      ...records.parts,
      server,
      ...localSocket,
      endless(draining),
      ...(member ? [member] : []),
    ]),
    announce: () => ({ records: server.url }),
  };
}

/** Half of the cores: the others serve requests. */
const compressionThreads = (): number => Math.max(1, Math.floor(availableParallelism() / 2));

/** Ends endless responses when the process drains; drained before the port, which waits for its responses. */
function endless(draining: AbortController): Lifecycle {
  return {
    name: 'endless responses',
    start: () => Promise.resolve(),
    drain: async () => draining.abort(new Error('The collection worker is stopping.')),
    stop: async () => draining.abort(new Error('The collection worker is stopping.')),
  };
}

/** Whether the control plane has created the tables of collections. */
async function hasCollectionTables(database: Database): Promise<boolean> {
  const [row] = await database.query<{ exists: boolean }>(
    `select to_regclass('drover.migrations') is not null as exists`,
  );
  if (!row?.exists) return false;
  const { [collectionMigrations.component]: version = 0 } = await schemaVersions(database);
  return version >= collectionMigrations.steps.length;
}

type DatabaseIo = Pick<ConstructorParameters<typeof Database>[0], 'clock' | 'randomness' | 'observe'>;

function openDatabase(config: CollectionWorkerConfig, io: DatabaseIo): Database {
  return new Database({
    url: config.databaseUrl,
    applicationName: 'drover collection-worker',
    poolSize: config.databasePoolSize,
    limits: { statementTimeoutMs: config.statementTimeoutMs, connectTimeoutMs: config.databaseConnectTimeoutMs },
    startWaitMs: config.databaseWaitMs,
    ...io,
  });
}

export const collectionWorkerProcess: ProcessDescription<CollectionWorkerConfig> = {
  name: 'collection-worker',
  parse: parseCollectionWorkerConfig,
  compose: composeCollectionWorker,
};
