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
import { longestHideMs } from './storage-queue.js';

export type MessageEncoding = 'base64' | 'none';

/** The options of one queue trigger: every value is checked and has its default. */
export interface QueueOptions {
  readonly queueName: string;
  /** Target of messages that failed too often; undefined if the queue is itself a poison queue. */
  readonly poisonQueueName: string | undefined;
  /** How the function receives the message body. */
  readonly dataType: 'text' | 'bytes';
  /** Messages per receive request. */
  readonly batchSize: number;
  /** The next request is sent when no more than this many messages are in flight. */
  readonly newBatchThreshold: number;
  /** Deliveries of a message before it counts as poison. */
  readonly maxDequeueCount: number;
  /** How long a failed message stays hidden if the settlement names no delay. */
  readonly visibilityTimeoutMs: number;
  readonly maxPollingIntervalMs: number;
  /** Lease of a received message; after a crash it becomes visible again when the lease expires. */
  readonly leaseMs: number;
  readonly messageEncoding: MessageEncoding;
  /** First delay of a failed message, doubled each time; 0 uses `visibilityTimeoutMs`. */
  readonly retryBackOffMs: number;
  /** Keys of the binding that no component reads: probably misspelt. */
  readonly unknownKeys: readonly string[];
}

export interface QueueOutputOptions {
  readonly queueName: string;
  readonly messageEncoding: MessageEncoding;
}

/** Limit of the service for one receive request. */
const largestBatch = 32;
const dayMs = 24 * 3_600_000;
/** Azure has no limit of its own for these. */
const largestInteger = 2 ** 31 - 1;

/** A queue name by the rules of the service. It is lowercased, as in the official host. */
const queueName: OptionRule<string> = {
  allowed: '3 to 63 lower-case letters, digits and single hyphens, beginning and ending with a letter or digit',
  read(value) {
    const name = typeof value === 'string' ? value.trim().toLowerCase() : '';
    return name.length >= 3 && name.length <= 63 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ? name : undefined;
  },
};

/** Options of host.json for all functions. A trigger may override each of them. */
const hostRules = {
  batchSize: wholeNumber(1, largestBatch),
  newBatchThreshold: wholeNumber(0, largestInteger),
  maxDequeueCount: wholeNumber(1, largestInteger),
  visibilityTimeout: timeSpan(0, longestHideMs),
  maxPollingInterval: timeSpan(100, dayMs),
  leaseDuration: timeSpan(1_000, longestHideMs),
  messageEncoding: oneWordOf('base64', 'none'),
  retryBackOff: timeSpan(0, longestHideMs),
};
const triggerRules = {
  queueName,
  ...hostRules,
  poisonQueueName: queueName,
  dataType: oneWordOf('string', 'binary', 'stream'),
};
const outputRules = { queueName, messageEncoding: hostRules.messageEncoding };

/** `extensions.queues` of host.json once it was read; durations are milliseconds. */
export interface QueueHostOptions {
  readonly batchSize?: number;
  readonly newBatchThreshold?: number;
  readonly maxDequeueCount?: number;
  readonly visibilityTimeout?: number;
  readonly maxPollingInterval?: number;
  readonly leaseDuration?: number;
  readonly messageEncoding?: MessageEncoding;
  readonly retryBackOff?: number;
}

/** Names of the options under `extensions.queues` of host.json. */
export const queueHostOptionNames: readonly string[] = Object.keys(hostRules);

/** Reads `extensions.queues` of host.json. It is the only reader of that section. */
export function readQueueHostOptions(
  section: unknown,
): Omit<ReadRules<typeof hostRules>, 'values'> & { readonly values: QueueHostOptions } {
  return readByRules(hostRules, section, { replaces: true });
}

interface QueueOptionsRequest {
  readonly functionName: string;
  readonly host: QueueHostOptions;
  /** The binding as the app declared it. Its options override those of host.json. */
  readonly binding: unknown;
}

/** Returns the options of a queueTrigger. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function queueOptions(request: QueueOptionsRequest & { readonly cores: number }): QueueOptions {
  const { functionName, host, binding, cores } = request;
  const { values: own, problems, unknownKeys } = readByRules(triggerRules, binding);
  const { queueName: name, poisonQueueName, dataType } = own;
  const options = { ...host, ...own };
  const batchSize = options.batchSize ?? 16;
  const found = describe('queueTrigger', name, problems);
  // A poison queue has no poison queue of its own: its messages would circulate for ever.
  const hasPoisonQueue = name !== undefined && !name.endsWith('-poison');
  const poison = poisonQueueName ?? (hasPoisonQueue ? queueName.read(`${name}-poison`) : undefined);
  if (hasPoisonQueue && poison === undefined)
    found.push(`its queueTrigger: "${name}-poison" is too long for a queue name; set poisonQueueName`);
  if (poison !== undefined && poison === name) found.push('its queueTrigger: poisonQueueName must be another queue');
  if (name === undefined || found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  return {
    queueName: name,
    poisonQueueName: poison,
    dataType: dataType === 'binary' || dataType === 'stream' ? 'bytes' : 'text',
    batchSize,
    newBatchThreshold: options.newBatchThreshold ?? Math.floor(batchSize / 2) * Math.max(1, cores),
    maxDequeueCount: options.maxDequeueCount ?? 5,
    visibilityTimeoutMs: options.visibilityTimeout ?? 0,
    maxPollingIntervalMs: options.maxPollingInterval ?? 60_000,
    leaseMs: options.leaseDuration ?? 600_000,
    messageEncoding: options.messageEncoding ?? 'base64',
    retryBackOffMs: options.retryBackOff ?? 0,
    unknownKeys: unknownKeys.filter((key) => !commonBindingKeys.has(key.toLowerCase())),
  };
}

/** Returns the options of a queue output binding. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function queueOutputOptions({ functionName, host, binding }: QueueOptionsRequest): QueueOutputOptions {
  const { values: own, problems } = readByRules(outputRules, binding);
  const found = describe('queue output', own.queueName, problems);
  if (own.queueName === undefined || found.length > 0) throw triggerOptionsInvalid({ functionName, problems: found });
  return {
    queueName: own.queueName,
    messageEncoding: own.messageEncoding ?? host.messageEncoding ?? 'base64',
  };
}

function describe(
  binding: string,
  name: string | undefined,
  problems: ReadRules<typeof triggerRules>['problems'],
): string[] {
  const described = problems.map(({ key, problem }) => `its ${binding}${key === '' ? '' : `: ${key}`} ${problem}`);
  const isMissing = name === undefined && !problems.some(({ key }) => key === '' || key === 'queueName');
  return isMissing ? [`its ${binding} needs a queueName: ${queueName.allowed}`, ...described] : described;
}
