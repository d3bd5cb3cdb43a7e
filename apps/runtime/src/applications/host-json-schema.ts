import {
  blobHostOptionNames,
  eventHubHostOptionNames,
  queueHostOptionNames,
  readBlobHostOptions,
  readEventHubHostOptions,
  readQueueHostOptions,
  readServiceBusHostOptions,
  serviceBusHostOptionNames,
  type BlobHostOptions,
  type EventHubHostOptions,
  type QueueHostOptions,
  type ServiceBusHostOptions,
} from '@drover/trigger-sources';
import type { RetryPolicy } from './function-definition.js';
import {
  anything,
  duration,
  external,
  field,
  flag,
  fraction,
  headers,
  list,
  optionalDuration,
  optionalWhole,
  section,
  whole,
  words,
  unused,
  type Options,
} from './option-fields.js';
import { parseRetryOptions } from './retry-options.js';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

const httpSection = section({
  routePrefix: words('api'),
  maxOutstandingRequests: optionalWhole({ min: 1, unbounded: -1 }),
  maxConcurrentRequests: optionalWhole({ min: 1, unbounded: -1 }),
  dynamicThrottlesEnabled: unused(flag(false)),
  customHeaders: headers(),
  hsts: section({
    isEnabled: flag(false),
    maxAge: duration(30 * 24 * 60 * minuteMs),
    includeSubDomains: flag(false),
    preload: flag(false),
    excludedHosts: list(),
  }),
});

const concurrency = section({
  dynamicConcurrencyEnabled: flag(false),
  snapshotPersistenceEnabled: flag(true),
  maximumFunctionConcurrency: optionalWhole({ min: 1 }),
});

const singleton = section({
  lockPeriod: unused(duration(15 * secondMs, { minMs: 15 * secondMs, maxMs: minuteMs })),
  listenerLockPeriod: duration(minuteMs, { minMs: 15 * secondMs, maxMs: minuteMs }),
  listenerLockRecoveryPollingInterval: unused(duration(minuteMs, { minMs: 15 * secondMs })),
  lockAcquisitionTimeout: unused(optionalDuration(undefined)),
  lockAcquisitionPollingInterval: unused(duration(5 * secondMs, { minMs: 500 })),
});

const healthMonitor = section({
  enabled: flag(true),
  healthCheckInterval: duration(10 * secondMs, { minMs: secondMs }),
  healthCheckWindow: duration(2 * minuteMs, { minMs: secondMs }),
  healthCheckThreshold: whole(6, { min: 1 }),
  counterThreshold: fraction(0.8),
});

/** Extensions of Azure whose options have no effect here. */
const otherExtensions = {
  cosmosDB: anything(),
  dapr: anything(),
  durableTask: anything(),
  eventGrid: anything(),
  kafka: anything(),
  kusto: anything(),
  mcp: anything(),
  mySql: anything(),
  openai: anything(),
  rabbitMQ: anything(),
  redis: anything(),
  sendGrid: anything(),
  signalR: anything(),
  sql: anything(),
  tables: anything(),
  twilioSms: anything(),
  warmup: anything(),
  webPubSub: anything(),
};

/** All options of host.json with their defaults. Nothing here depends on the unused ones yet. */
export const hostJsonSection = section({
  version: words(undefined),
  functionTimeout: optionalDuration(30 * minuteMs, { minMs: secondMs, unbounded: '-1' }),
  retry: field<RetryPolicy | undefined>('a retry policy', undefined, (raw) => {
    const read = parseRetryOptions(raw);
    return 'policy' in read ? { value: read.policy } : undefined;
  }),
  /** The functions that run; undefined: all. */
  functions: list(),
  extensions: section({
    http: httpSection,
    queues: external<QueueHostOptions>(queueHostOptionNames, readQueueHostOptions),
    serviceBus: external<ServiceBusHostOptions>(serviceBusHostOptionNames, readServiceBusHostOptions),
    eventHubs: external<EventHubHostOptions>(eventHubHostOptionNames, readEventHubHostOptions),
    blobs: external<BlobHostOptions>(blobHostOptionNames, readBlobHostOptions),
    ...otherExtensions,
  }),
  concurrency: unused(concurrency),
  singleton,
  healthMonitor: unused(healthMonitor),
  sendCanceledInvocationsToWorker: unused(flag(false)),
  aggregator: unused(section({ batchSize: whole(1_000, { min: 1 }), flushTimeout: duration(30 * secondMs) })),
  watchDirectories: unused(list()),
  watchFiles: unused(list()),
  metadataProviderTimeout: unused(duration(30 * secondMs)),
  telemetryMode: unused(words(undefined)),
  configurationProfile: anything(),
  logging: anything(),
  extensionBundle: anything(),
  managedDependency: anything(),
  customHandler: anything(),
  isDefaultHostConfig: anything(),
});

/** host.json once it was read: every option has a value, durations are milliseconds. */
export type HostJson = Options<typeof hostJsonSection.fields>;
export type HttpOptions = Options<typeof httpSection.fields>;

/** Where options of older hosts and extensions are now. */
export const formerNames: Readonly<Record<string, string>> = {
  eventhub: 'extensions.eventHubs',
  documentdb: 'extensions.cosmosDB',
  applicationinsights: 'logging.applicationInsights',
  loglevel: 'logging.logLevel',
  tracing: 'logging',
  httpworker: 'customHandler',
  manageddependencies: 'managedDependency',
  durabletask: 'extensions.durableTask',
  sendgrid: 'extensions.sendGrid',
  kafka: 'extensions.kafka',
  rabbitmq: 'extensions.rabbitMQ',
  signalr: 'extensions.signalR',
  messagehandleroptions: 'extensions.serviceBus itself (its options have stood there since version 5 of the extension)',
  sessionhandleroptions: 'extensions.serviceBus itself (its options have stood there since version 5 of the extension)',
  batchoptions: 'extensions.serviceBus itself (its options have stood there since version 5 of the extension)',
  eventprocessoroptions: 'extensions.eventHubs itself (its options have stood there since version 5 of the extension)',
  maxbatchsize: 'extensions.eventHubs.maxEventBatchSize',
};
