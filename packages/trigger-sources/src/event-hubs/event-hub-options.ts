import { triggerOptionsInvalid } from '../errors.js';
import {
  commonBindingKeys,
  oneWordOf,
  readByRules,
  timeSpan,
  wholeNumber,
  type OptionRule,
  type ReadRules,
} from '../options/option-rules.js';
import {
  clientRetries,
  hubFlag,
  initialOffset,
  hubText,
  type ClientRetries,
  type InitialOffset,
} from './option-kinds.js';
import { eventProperties } from './hub-output-event.js';

/**
 * - partition: one batch of a partition at a time, in the order of the log
 * - key: batches of one partition run side by side, events with the same partition key in order
 * - none: batches of one partition run side by side
 */
export type EventOrder = 'partition' | 'key' | 'none';

/**
 * What happens to a batch whose function ran and failed, after the retries of its retry policy:
 * - advance: it is passed over, as in Azure
 * - hold: it is delivered again until it succeeds; its partition waits
 * - deadletter: its events are copied to another hub, then it is passed over
 */
export type FailurePolicy = 'advance' | 'hold' | 'deadletter';

/** The options of one event hub trigger: every value is checked and has its default. */
export interface EventHubOptions {
  /** Undefined if the connection string must name the hub. */
  readonly eventHubName: string | undefined;
  readonly consumerGroup: string;
  /** True for cardinality "many". */
  readonly isBatch: boolean;
  readonly maxEventBatchSize: number;
  readonly minEventBatchSize: number;
  /** How long a batch below `minEventBatchSize` waits for more events. */
  readonly maxWaitMs: number;
  /** Events of a partition that are received ahead. */
  readonly prefetchCount: number;
  readonly batchCheckpointFrequency: number;
  /** Unprocessed events that one function worker is expected to take. */
  readonly targetPerWorker: number;
  readonly initialOffset: InitialOffset;
  /** Undefined: the default of the checkpoint store. */
  readonly updateIntervalMs: number | undefined;
  readonly ownershipExpiryMs: number | undefined;
  readonly orderBy: EventOrder;
  /** Batches of one partition that run side by side. */
  readonly partitionConcurrency: number;
  readonly onFailure: FailurePolicy;
  readonly deadLetterHub: string | undefined;
  readonly checkpointStore: 'runtime' | 'blob';
  readonly checkpointContainer: string;
  readonly checkpointConnection: string | undefined;
  readonly customEndpointAddress: string | undefined;
  readonly retries: ClientRetries;
  /** Keys of the binding that no component reads: probably misspelt. */
  readonly unknownKeys: readonly string[];
}

export interface EventHubOutputOptions {
  readonly eventHubName: string | undefined;
  readonly partitionKey: string | undefined;
  readonly eventProperties: Readonly<Record<string, unknown>>;
  readonly customEndpointAddress: string | undefined;
  readonly retries: ClientRetries;
}

const largestInteger = 2 ** 31 - 1;
const dayMs = 24 * 3_600_000;
/** Limit of the service for one reader. */
const largestPrefetch = 1_000_000;
const maxConcurrency = 64;

/** Options of host.json for all functions. A trigger may override each of them. */
const hostRules = {
  maxEventBatchSize: wholeNumber(1, largestPrefetch),
  minEventBatchSize: wholeNumber(1, largestPrefetch),
  maxWaitTime: timeSpan(0, dayMs),
  batchCheckpointFrequency: wholeNumber(1, largestInteger),
  prefetchCount: wholeNumber(0, largestPrefetch),
  loadBalancingUpdateInterval: timeSpan(100, dayMs),
  partitionOwnershipExpirationInterval: timeSpan(500, dayMs),
  trackLastEnqueuedEventProperties: hubFlag,
  targetUnprocessedEventThreshold: wholeNumber(1, largestInteger),
  customEndpointAddress: hubText,
  initialOffsetOptions: initialOffset,
  transportType: tcpOnly(),
  webProxy: hubText,
  clientRetryOptions: clientRetries,
  orderBy: oneWordOf('partition', 'key', 'none'),
  partitionConcurrency: wholeNumber(1, maxConcurrency),
  onFailure: oneWordOf('advance', 'hold', 'deadletter'),
  checkpointStore: oneWordOf('runtime', 'blob'),
  checkpointContainer: hubText,
  checkpointConnection: hubText,
};
const triggerRules = {
  eventHubName: hubText,
  consumerGroup: hubText,
  cardinality: oneWordOf('one', 'many'),
  ...hostRules,
  deadLetterHub: hubText,
};
const outputRules = { eventHubName: hubText, partitionKey: hubText, eventProperties: jsonProperties() };

/** `extensions.eventHubs` of host.json once it was read; durations are milliseconds. */
export interface EventHubHostOptions {
  readonly maxEventBatchSize?: number;
  readonly minEventBatchSize?: number;
  readonly maxWaitTime?: number;
  readonly batchCheckpointFrequency?: number;
  readonly prefetchCount?: number;
  readonly loadBalancingUpdateInterval?: number;
  readonly partitionOwnershipExpirationInterval?: number;
  readonly trackLastEnqueuedEventProperties?: boolean;
  readonly targetUnprocessedEventThreshold?: number;
  readonly customEndpointAddress?: string;
  readonly initialOffsetOptions?: InitialOffset;
  readonly transportType?: 'amqptcp';
  readonly webProxy?: string;
  readonly clientRetryOptions?: ClientRetries;
  readonly orderBy?: EventOrder;
  readonly partitionConcurrency?: number;
  readonly onFailure?: FailurePolicy;
  readonly checkpointStore?: 'runtime' | 'blob';
  readonly checkpointContainer?: string;
  readonly checkpointConnection?: string;
}

/** Names of the options under `extensions.eventHubs` of host.json. */
export const eventHubHostOptionNames: readonly string[] = Object.keys(hostRules);

/** Reads `extensions.eventHubs` of host.json. It is the only reader of that section. */
export function readEventHubHostOptions(
  section: unknown,
): Omit<ReadRules<typeof hostRules>, 'values'> & { readonly values: EventHubHostOptions } {
  return readByRules(hostRules, section, { replaces: true });
}

interface EventHubOptionsRequest {
  readonly functionName: string;
  readonly host: EventHubHostOptions;
  /** The binding as the function declares it. */
  readonly binding: Readonly<Record<string, unknown>>;
}

/** Returns the options of an event hub trigger. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function eventHubOptions({ functionName, host, binding }: EventHubOptionsRequest): EventHubOptions {
  const { values: own, problems, unknownKeys } = readByRules(triggerRules, binding);
  const options = { ...host, ...own };
  const found = [
    ...problems.map(({ key, problem }) => `its eventHubTrigger${key === '' ? '' : `: ${key}`} ${problem}`),
    ...contradictions(options),
  ];
  if (found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  const isBatch = own.cardinality === 'many';
  const maxEventBatchSize = isBatch ? (options.maxEventBatchSize ?? 100) : 1;
  return {
    eventHubName: own.eventHubName,
    consumerGroup: own.consumerGroup ?? '$Default',
    isBatch,
    maxEventBatchSize,
    minEventBatchSize: isBatch ? (options.minEventBatchSize ?? 1) : 1,
    maxWaitMs: options.maxWaitTime ?? 60_000,
    // Large batches wait for the network otherwise: three of them, as in the SDK.
    prefetchCount: options.prefetchCount ?? Math.max(300, 3 * maxEventBatchSize),
    batchCheckpointFrequency: options.batchCheckpointFrequency ?? 1,
    targetPerWorker: options.targetUnprocessedEventThreshold ?? options.maxEventBatchSize ?? 100,
    initialOffset: options.initialOffsetOptions ?? { kind: 'start' },
    updateIntervalMs: options.loadBalancingUpdateInterval,
    ownershipExpiryMs: options.partitionOwnershipExpirationInterval,
    orderBy: options.orderBy ?? 'partition',
    partitionConcurrency:
      options.orderBy === 'key' || options.orderBy === 'none' ? (options.partitionConcurrency ?? 4) : 1,
    onFailure: options.onFailure ?? 'advance',
    deadLetterHub: own.deadLetterHub,
    checkpointStore: options.checkpointStore ?? 'runtime',
    checkpointContainer: options.checkpointContainer ?? 'azure-webjobs-eventhub',
    checkpointConnection: options.checkpointConnection,
    customEndpointAddress: options.customEndpointAddress,
    retries: options.clientRetryOptions ?? {},
    unknownKeys: unknownKeys.filter((key) => !commonBindingKeys.has(key.toLowerCase())),
  };
}

/** Returns the options of an event hub output binding. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function eventHubOutputOptions({ functionName, host, binding }: EventHubOptionsRequest): EventHubOutputOptions {
  const { values: own, problems } = readByRules(outputRules, binding);
  const found = problems.map(({ key, problem }) => `its eventHub output${key === '' ? '' : `: ${key}`} ${problem}`);
  if (found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  return {
    eventHubName: own.eventHubName,
    partitionKey: own.partitionKey,
    eventProperties: own.eventProperties ?? {},
    customEndpointAddress: host.customEndpointAddress,
    retries: host.clientRetryOptions ?? {},
  };
}

function contradictions(options: ReadRules<typeof triggerRules>['values']): readonly string[] {
  const { maxEventBatchSize = 100, minEventBatchSize = 1, deadLetterHub, onFailure = 'advance' } = options;
  const { loadBalancingUpdateInterval: update, partitionOwnershipExpirationInterval: expiry } = options;
  const found: string[] = [];
  if (options.cardinality === 'many' && minEventBatchSize > maxEventBatchSize)
    found.push(
      `its eventHubTrigger: minEventBatchSize (${minEventBatchSize}) must not be larger than maxEventBatchSize (${maxEventBatchSize})`,
    );
  if (update !== undefined && expiry !== undefined && expiry < 2 * update)
    found.push(
      `its eventHubTrigger: partitionOwnershipExpirationInterval (${expiry} ms) must be at least twice loadBalancingUpdateInterval (${update} ms)`,
    );
  if (onFailure === 'deadletter' && deadLetterHub === undefined)
    found.push(
      'its eventHubTrigger: onFailure "deadLetter" needs deadLetterHub, the name of a hub in the same namespace',
    );
  if (onFailure !== 'deadletter' && deadLetterHub !== undefined)
    found.push('its eventHubTrigger: deadLetterHub has no effect without onFailure "deadLetter"');
  if (deadLetterHub !== undefined && deadLetterHub.toLowerCase() === options.eventHubName?.toLowerCase())
    found.push('its eventHubTrigger: deadLetterHub must be another hub');
  return found;
}

/** Azure accepts WebSockets too. They are replaced: this runtime has no implementation of them. */
function tcpOnly(): OptionRule<'amqptcp'> {
  const tcp = oneWordOf('amqptcp');
  return {
    allowed: '"amqpTcp"',
    read: (value) => tcp.read(value),
    replace: (value) =>
      typeof value === 'string' && value.trim().toLowerCase() === 'amqpwebsockets'
        ? { value: 'amqptcp', note: 'is "amqpWebSockets"; "amqpTcp" is used' }
        : undefined,
  };
}

/** Binding expressions are evaluated in texts only, so properties may be written as JSON. */
function jsonProperties(): OptionRule<Readonly<Record<string, unknown>>> {
  return {
    allowed: `${eventProperties.allowed}, or its JSON`,
    read: (value) => eventProperties.read(typeof value === 'string' ? parsed(value) : value),
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
