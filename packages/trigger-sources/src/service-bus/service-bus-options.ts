import { triggerOptionsInvalid } from '../errors.js';
import {
  commonBindingKeys,
  oneWordOf,
  readByRules,
  timeSpan,
  trueOrFalse,
  wholeNumber,
  type OptionRule,
  type ReadRules,
} from '../options/option-rules.js';
import { hasSdkBinding } from '../options/sdk-binding.js';
import { entityRules, queueEntity, subscriptionEntity, type BusEntity } from './bus-entity.js';

/** The options of one Service Bus trigger: every value is checked and has its default. */
export interface ServiceBusTriggerOptions {
  readonly entity: BusEntity;
  readonly dataType: 'text' | 'bytes';
  /** The worker creates messages of the SDK. */
  readonly isSdkBinding: boolean;
  /** Several messages per invocation. */
  readonly isBatch: boolean;
  /** Messages of a session run in order. */
  readonly isSessions: boolean;
  /** False: the function settles its messages itself. */
  readonly autoComplete: boolean;
  readonly maxConcurrentCalls: number;
  readonly maxConcurrentSessions: number;
  readonly maxConcurrentCallsPerSession: number;
  /** Messages that are locked ahead of the running ones. */
  readonly prefetchCount: number;
  /** Locks are renewed for this long after the receipt of a message. */
  readonly maxRenewalMs: number;
  readonly batch: BatchLimits;
  /** A session without messages is released after this time. */
  readonly sessionIdleMs: number;
  /** First delay of a failed message, doubled each time; 0 redelivers at once. */
  readonly retryBackOffMs: number;
  /** Time limit of one request. */
  readonly tryTimeoutMs: number;
  /** Keys of the binding that no component reads: probably misspelt. */
  readonly unknownKeys: readonly string[];
}

export interface BatchLimits {
  readonly max: number;
  readonly min: number;
  /** How long a message waits for others until `min` are there. */
  readonly maxWaitMs: number;
}

/** The target of an output: a queue or a topic. */
export interface ServiceBusOutputOptions {
  readonly entityName: string;
}

const secondMs = 1_000;
const dayMs = 24 * 3_600 * secondMs;
/** The SDK keeps 2,048 unsettled deliveries per receiver at most. */
const largestBatch = 2_000;
const largestInteger = 2 ** 31 - 1;

/** Batches beyond the bound of the SDK are cut to it: Azure accepts any number. */
const batchSize: OptionRule<number> = {
  ...wholeNumber(1, largestBatch),
  replace(value) {
    const given = wholeNumber(1, largestInteger).read(value);
    return given === undefined ? undefined : { value: largestBatch, note: `is ${given}; ${largestBatch} is used` };
  },
};

const transportType: OptionRule<'amqptcp'> = {
  allowed: '"amqpTcp"',
  read: (value) => oneWordOf('amqptcp').read(value),
  replace: (value) =>
    oneWordOf('amqpwebsockets').read(value) && {
      value: 'amqptcp',
      note: 'is "amqpWebSockets", which is not supported; "amqpTcp" is used',
    },
};

const retryRules = {
  mode: oneWordOf('exponential', 'fixed'),
  tryTimeout: timeSpan(secondMs, 3_600 * secondMs),
  delay: timeSpan(0, 3_600 * secondMs),
  maxDelay: timeSpan(0, 3_600 * secondMs),
  maxRetries: wholeNumber(0, largestInteger),
};

/** Of these, `tryTimeout` has an effect: the listener itself retries, for ever. */
const clientRetryOptions: OptionRule<{ readonly tryTimeout?: number }> = {
  allowed: `an object with ${Object.keys(retryRules).join(', ')}`,
  read(value) {
    const { values, problems, unknownKeys } = readByRules(retryRules, value, { replaces: true });
    if (problems.length > 0 || unknownKeys.length > 0) return undefined;
    return values.tryTimeout === undefined ? {} : { tryTimeout: values.tryTimeout };
  },
};

const anyValue: OptionRule<unknown> = { allowed: 'anything', read: (value) => value };

/** Options of host.json for all functions. A trigger may override each of them. */
const hostRules = {
  autoCompleteMessages: trueOrFalse,
  maxConcurrentCalls: wholeNumber(1, 100_000),
  maxConcurrentSessions: wholeNumber(1, 10_000),
  maxConcurrentCallsPerSession: wholeNumber(1, 1_000),
  prefetchCount: wholeNumber(0, 100_000),
  maxAutoLockRenewalDuration: timeSpan(0, dayMs),
  maxMessageBatchSize: batchSize,
  minMessageBatchSize: batchSize,
  maxBatchWaitTime: timeSpan(0, 150 * secondMs),
  sessionIdleTimeout: timeSpan(0, dayMs),
  retryBackOff: timeSpan(0, 3_600 * secondMs),
  clientRetryOptions,
  transportType,
  /** A proxy is for WebSockets only; transactions are not used. */
  webProxy: anyValue,
  enableCrossEntityTransactions: trueOrFalse,
};
const triggerRules = {
  ...hostRules,
  queueName: entityRules.queueOfTrigger,
  topicName: entityRules.topic,
  subscriptionName: entityRules.subscription,
  isSessionsEnabled: trueOrFalse,
  cardinality: oneWordOf('one', 'many'),
  dataType: oneWordOf('string', 'binary', 'stream'),
  /** Of the first version of the extension; it has no effect in Azure either. */
  accessRights: anyValue,
};
const outputRules = { queueName: entityRules.queue, topicName: entityRules.topic };

/** `extensions.serviceBus` of host.json once it was read; durations are milliseconds. */
export interface ServiceBusHostOptions {
  readonly autoCompleteMessages?: boolean;
  readonly maxConcurrentCalls?: number;
  readonly maxConcurrentSessions?: number;
  readonly maxConcurrentCallsPerSession?: number;
  readonly prefetchCount?: number;
  readonly maxAutoLockRenewalDuration?: number;
  readonly maxMessageBatchSize?: number;
  readonly minMessageBatchSize?: number;
  readonly maxBatchWaitTime?: number;
  readonly sessionIdleTimeout?: number;
  readonly retryBackOff?: number;
  readonly clientRetryOptions?: { readonly tryTimeout?: number };
}

/** Names of the options under `extensions.serviceBus` of host.json. */
export const serviceBusHostOptionNames: readonly string[] = Object.keys(hostRules);

/** Reads `extensions.serviceBus` of host.json. It is the only reader of that section. */
export function readServiceBusHostOptions(
  section: unknown,
): Omit<ReadRules<typeof hostRules>, 'values'> & { readonly values: ServiceBusHostOptions } {
  return readByRules(hostRules, section, { replaces: true });
}

interface ServiceBusOptionsRequest {
  readonly functionName: string;
  /** The binding as the app declared it. Its options override those of host.json. */
  readonly binding: unknown;
}

/** Returns the options of a serviceBusTrigger. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function serviceBusOptions(
  request: ServiceBusOptionsRequest & { readonly host: ServiceBusHostOptions; readonly cores: number },
): ServiceBusTriggerOptions {
  const { functionName, host, binding, cores } = request;
  const { values: own, problems, unknownKeys } = readByRules(triggerRules, binding);
  const options = { ...host, ...own };
  const found = problems.map((problem) => describe('serviceBusTrigger', problem));
  const batch: BatchLimits = {
    max: options.maxMessageBatchSize ?? 1_000,
    min: options.minMessageBatchSize ?? 1,
    maxWaitMs: options.maxBatchWaitTime ?? 30 * secondMs,
  };
  if (batch.min > batch.max)
    found.push(
      `its serviceBusTrigger: minMessageBatchSize must be at most maxMessageBatchSize (${batch.max}), not ${batch.min}`,
    );
  const entity = entityOf(own);
  if (typeof entity === 'string' && !isReported(problems)) found.unshift(`its serviceBusTrigger ${entity}`);
  if (typeof entity === 'string' || found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  return {
    entity,
    dataType: own.dataType === 'binary' || own.dataType === 'stream' ? 'bytes' : 'text',
    isSdkBinding: hasSdkBinding(binding),
    isBatch: own.cardinality === 'many',
    isSessions: own.isSessionsEnabled ?? false,
    autoComplete: options.autoCompleteMessages ?? true,
    maxConcurrentCalls: options.maxConcurrentCalls ?? 16 * Math.max(1, cores),
    maxConcurrentSessions: options.maxConcurrentSessions ?? 8,
    maxConcurrentCallsPerSession: options.maxConcurrentCallsPerSession ?? 1,
    prefetchCount: options.prefetchCount ?? 0,
    maxRenewalMs: options.maxAutoLockRenewalDuration ?? 300 * secondMs,
    batch,
    sessionIdleMs: options.sessionIdleTimeout ?? secondMs,
    retryBackOffMs: options.retryBackOff ?? 0,
    tryTimeoutMs: options.clientRetryOptions?.tryTimeout ?? 30 * secondMs,
    unknownKeys: unknownKeys.filter((key) => !commonBindingKeys.has(key.toLowerCase())),
  };
}

interface EntityNames {
  readonly queueName?: string;
  readonly topicName?: string;
  readonly subscriptionName?: string;
}

/** Returns the entity, or what is wrong. */
function entityOf({ queueName, topicName, subscriptionName }: EntityNames): BusEntity | string {
  if (queueName !== undefined && (topicName !== undefined || subscriptionName !== undefined))
    return 'has a queueName and a topicName; set one of them';
  if (queueName !== undefined) return queueEntity(queueName);
  if (topicName !== undefined && subscriptionName !== undefined) return subscriptionEntity(topicName, subscriptionName);
  if (topicName !== undefined) return 'needs the subscriptionName of its topic';
  return 'needs a queueName, or a topicName and a subscriptionName';
}

/** Returns the options of a serviceBus output binding. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function serviceBusOutputOptions({ functionName, binding }: ServiceBusOptionsRequest): ServiceBusOutputOptions {
  const { values: own, problems } = readByRules(outputRules, binding);
  const found = problems.map((problem) => describe('serviceBus output', problem));
  if (own.queueName !== undefined && own.topicName !== undefined)
    found.push('its serviceBus output has a queueName and a topicName; set one of them');
  const entityName = own.queueName ?? own.topicName;
  if (entityName === undefined && !isReported(problems))
    found.unshift('its serviceBus output needs a queueName or a topicName');
  if (entityName === undefined || found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  return { entityName };
}

type Problem = ReadRules<typeof triggerRules>['problems'][number];

function describe(binding: string, { key, problem }: Problem): string {
  return `its ${binding}${key === '' ? '' : `: ${key}`} ${problem}`;
}

/** Whether a problem about the entity is listed already. */
function isReported(problems: readonly Problem[]): boolean {
  return problems.some(({ key }) => key === '' || key.endsWith('Name'));
}
