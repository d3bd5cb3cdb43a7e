import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { blobExtension } from './blob/blob-extension.js';
import { blobHostOptionNames, blobTriggerOptions } from './blob/blob-options.js';
import { collectionExtension } from './collection/collection-extension.js';
import {
  collectionInputOptions,
  collectionOutputOptions,
  collectionTriggerOptions,
} from './collection/collection-options.js';
import { eventGridExtension } from './event-grid/event-grid-extension.js';
import { eventHubExtension } from './event-hubs/event-hub-extension.js';
import { eventHubHostOptionNames, eventHubOptions } from './event-hubs/event-hub-options.js';
import { formatTimeSpan } from './options/time-span.js';
import { queueExtension } from './queue/queue-extension.js';
import { queueHostOptionNames, queueOptions } from './queue/queue-options.js';
import { serviceBusExtension } from './service-bus/service-bus-extension.js';
import { serviceBusHostOptionNames, serviceBusOptions } from './service-bus/service-bus-options.js';
import { tableExtension } from './table/table-extension.js';
import { tableOptions } from './table/table-options.js';
import { timerExtension } from './timer/timer-extension.js';
import { timerOptions } from './timer/timer-options.js';

const document = `\n${readFileSync(new URL('../../../docs/triggers.md', import.meta.url), 'utf8')}`;

/** Cells of the rows of the first table below a heading, without backticks and the mark of what Azure does not have. */
function tableBelow(heading: string): string[][] {
  const [, section = ''] = document.split(`\n${heading}\n`);
  const [table = ''] = /(?:^\|.*\n)+/m.exec(section) ?? [];
  const [, , ...rows] = table.trim().split('\n');
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.replaceAll('⁺', '').trim()),
  );
}

interface OptionRow {
  readonly key: string;
  readonly usual: string;
  readonly allowed: string;
  readonly where: readonly string[];
}

const optionsBelow = (heading: string): OptionRow[] =>
  tableBelow(heading).map(([key = '', usual = '', allowed = '', where = '']) => ({
    key: key.replaceAll('`', ''),
    usual,
    allowed,
    where: where.split(', '),
  }));

const cores = 4;
const request = { functionName: 'work', host: {}, cores };
const span = (ms: number): string => formatTimeSpan(ms);
const word = (isBatch: boolean): string => (isBatch ? 'many' : 'one');

/** The options of a source, as its code reads them. */
interface DocumentedSource {
  readonly heading: string;
  /** A binding with the least that is required, and the option under test. */
  readonly read: (binding: Readonly<Record<string, unknown>>) => { readonly unknownKeys?: readonly string[] };
  readonly hostOptions: readonly string[];
  /** What applies if an option is absent, as the document writes it. */
  readonly defaults: () => Readonly<Record<string, unknown>>;
}

const readQueue = (binding: object) => queueOptions({ ...request, binding: { queueName: 'orders', ...binding } });
const readBus = (binding: object) => serviceBusOptions({ ...request, binding: { queueName: 'orders', ...binding } });
const readHub = (binding: object) =>
  eventHubOptions({ ...request, binding: { eventHubName: 'hub', cardinality: 'many', ...binding } });
const readBlob = (binding: object) =>
  blobTriggerOptions({ ...request, binding: { path: 'in-box/{name}', ...binding } });
const readTimer = (binding: object) =>
  timerOptions({ functionName: 'work', settings: {}, now: 0, binding: { schedule: '0 */5 * * * *', ...binding } });
const readCollection = (binding: object) =>
  collectionTriggerOptions({ functionName: 'work', binding: { collection: 'orders', ...binding } });
const readCollectionInput = (binding: object) => ({
  ...collectionInputOptions({ functionName: 'work', binding: { collection: 'orders', ...binding } }),
  unknownKeys: [],
});
const readCollectionOutput = (binding: object) => ({
  ...collectionOutputOptions({ functionName: 'work', binding: { collection: 'orders', ...binding } }),
  unknownKeys: [],
});
const readTable = (binding: object) => ({
  ...tableOptions({ functionName: 'work', binding: { tableName: 'rows', ...binding } }, 'input'),
  unknownKeys: [],
});

const sources: readonly DocumentedSource[] = [
  {
    heading: '### `queueTrigger`',
    read: readQueue,
    hostOptions: queueHostOptionNames,
    defaults: () => {
      const options = readQueue({});
      return {
        dataType: options.dataType === 'text' ? 'string' : options.dataType,
        batchSize: options.batchSize,
        newBatchThreshold:
          options.newBatchThreshold === 8 * cores ? 'batchSize / 2 × cores' : options.newBatchThreshold,
        maxDequeueCount: options.maxDequeueCount,
        visibilityTimeout: span(options.visibilityTimeoutMs),
        maxPollingInterval: span(options.maxPollingIntervalMs),
        messageEncoding: options.messageEncoding,
        leaseDuration: span(options.leaseMs),
        retryBackOff: span(options.retryBackOffMs),
        poisonQueueName: options.poisonQueueName,
      };
    },
  },
  {
    heading: '### `serviceBusTrigger`',
    read: ({ topicName, subscriptionName, ...others }) => {
      const names = topicName !== undefined || subscriptionName !== undefined;
      const topic = { queueName: undefined, topicName: 'news', subscriptionName: 'all' };
      return readBus(
        names
          ? {
              ...topic,
              ...(topicName !== undefined && { topicName }),
              ...(subscriptionName !== undefined && { subscriptionName }),
            }
          : others,
      );
    },
    hostOptions: serviceBusHostOptionNames,
    defaults: () => {
      const options = readBus({});
      return {
        isSessionsEnabled: options.isSessions,
        cardinality: word(options.isBatch),
        dataType: options.dataType === 'text' ? 'string' : options.dataType,
        autoCompleteMessages: options.autoComplete,
        maxConcurrentCalls: options.maxConcurrentCalls === 16 * cores ? '16 × cores' : options.maxConcurrentCalls,
        maxConcurrentSessions: options.maxConcurrentSessions,
        maxConcurrentCallsPerSession: options.maxConcurrentCallsPerSession,
        prefetchCount: options.prefetchCount,
        maxAutoLockRenewalDuration: span(options.maxRenewalMs),
        maxMessageBatchSize: options.batch.max,
        minMessageBatchSize: options.batch.min,
        maxBatchWaitTime: span(options.batch.maxWaitMs),
        sessionIdleTimeout: span(options.sessionIdleMs),
        retryBackOff: span(options.retryBackOffMs),
        clientRetryOptions: `tryTimeout ${span(options.tryTimeoutMs)}`,
        transportType: 'amqpTcp',
      };
    },
  },
  {
    heading: '### `eventHubTrigger`',
    read: readHub,
    hostOptions: eventHubHostOptionNames,
    defaults: () => {
      const options = readHub({});
      return {
        consumerGroup: options.consumerGroup,
        cardinality: word(readHub({ cardinality: undefined }).isBatch),
        maxEventBatchSize: options.maxEventBatchSize,
        minEventBatchSize: options.minEventBatchSize,
        maxWaitTime: span(options.maxWaitMs),
        batchCheckpointFrequency: options.batchCheckpointFrequency,
        prefetchCount: options.prefetchCount,
        loadBalancingUpdateInterval: options.updateIntervalMs ?? 'of the store',
        partitionOwnershipExpirationInterval: options.ownershipExpiryMs ?? 'of the store',
        initialOffsetOptions: options.initialOffset.kind === 'start' ? 'fromStart' : options.initialOffset.kind,
        orderBy: options.orderBy,
        partitionConcurrency: options.partitionConcurrency,
        onFailure: options.onFailure,
        checkpointStore: options.checkpointStore,
        checkpointContainer: options.checkpointContainer,
        transportType: 'amqpTcp',
      };
    },
  },
  {
    heading: '### `blobTrigger`',
    read: readBlob,
    hostOptions: blobHostOptionNames,
    defaults: () => {
      const options = readBlob({});
      return {
        source: 'LogsAndContainerScan',
        maxDegreeOfParallelism:
          options.maxDegreeOfParallelism === 8 * cores ? '8 × cores' : options.maxDegreeOfParallelism,
        poisonBlobThreshold: options.poisonBlobThreshold,
        maxDequeueCount: options.poisonBlobThreshold,
        scanInterval: span(options.scanIntervalMs),
        leaseDuration: span(options.leaseMs),
        retryBackOff: span(options.retryBackOffMs),
      };
    },
  },
  {
    heading: '### `timerTrigger`',
    read: readTimer,
    hostOptions: [],
    defaults: () => {
      const { runOnStartup, isMonitored } = readTimer({});
      return { runOnStartup, useMonitor: isMonitored };
    },
  },
  {
    heading: '### `collectionTrigger`',
    read: readCollection,
    hostOptions: [],
    defaults: () => {
      const options = readCollection({});
      return {
        events: options.kinds.size === 4 ? 'all' : [...options.kinds].join(),
        startFrom: options.startFrom,
        maxBatchSize: options.maxBatchSize,
        maxConcurrentRecords: options.maxConcurrentRecords,
        maxDeliveryCount: options.maxDeliveryCount,
        retryBackOff: span(options.retryBackOffMs),
      };
    },
  },
  { heading: '### `collection` input', read: readCollectionInput, hostOptions: [], defaults: () => ({}) },
  {
    heading: '### `collection` output',
    read: readCollectionOutput,
    hostOptions: [],
    defaults: () => ({ operation: readCollectionOutput({}).operation }),
  },
  { heading: '### `table` input and output', read: readTable, hostOptions: [], defaults: () => ({}) },
];

/** Returns what the code allows for an option, from its refusal of a value that no option takes. */
function allowedBy(read: DocumentedSource['read'], key: string): string {
  try {
    const { unknownKeys = [] } = read({ [key]: ['?'] });
    return unknownKeys.includes(key) ? 'nothing: the option does not exist' : 'anything';
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, allowed] = new RegExp(`: ${key} must be (.+), not \\["\\?"\\]`).exec(message) ?? [];
    return allowed ?? message;
  }
}

describe('docs/triggers.md', () => {
  it('lists the binding types of all extensions, and HTTP and warmup, which the runtime serves itself', () => {
    const factories = [
      queueExtension,
      serviceBusExtension,
      eventHubExtension,
      blobExtension,
      tableExtension,
      timerExtension,
      eventGridExtension,
      collectionExtension,
    ];
    const inColumn = (column: number): string[] =>
      tableBelow('# Triggers and bindings')
        .flatMap((cells) => cells[column]?.replaceAll('`', '') || [])
        .toSorted();
    const typesOf = (kind: 'triggers' | 'inputs' | 'outputs'): string[] =>
      factories.flatMap(({ types }) => types[kind]);
    expect(inColumn(1)).toEqual(['httpTrigger', 'warmupTrigger', ...typesOf('triggers')].toSorted());
    expect(inColumn(2)).toEqual(typesOf('inputs').toSorted());
    expect(inColumn(3)).toEqual(['http', ...typesOf('outputs')].toSorted());
  });

  describe.each(sources)('$heading', ({ heading, read, hostOptions, defaults }) => {
    const rows = optionsBelow(heading);

    it('lists every option of host.json, and no other', () => {
      const documented = rows.flatMap(({ key, where }) => (where.includes('host.json') ? [key] : []));
      expect(documented.toSorted()).toEqual(hostOptions.toSorted());
    });

    it('says what each option allows', () => {
      const actual = rows.map(({ key }) => [key, allowedBy(read, key)]);
      expect(Object.fromEntries(rows.map(({ key, allowed }) => [key, allowed]))).toEqual(Object.fromEntries(actual));
    });

    it('says what applies if an option is absent', () => {
      const documented = rows.flatMap(({ key, usual }) => (usual === '–' ? [] : [[key, usual]]));
      const actual = Object.entries(defaults()).map(([key, value]) => [key, String(value)]);
      expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(actual));
    });
  });
});
