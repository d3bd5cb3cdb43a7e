import { triggerOptionsInvalid } from '../errors.js';
import { oneWordOf, queueName, readOptions, timeSpan, wholeNumber } from './option-rules.js';
import { longestHideMs } from './storage-queue.js';

export type MessageEncoding = 'base64' | 'none';

/** How one function takes messages from its queue; every value is checked and has its default. */
export interface QueueOptions {
  readonly queueName: string;
  /** Where messages go that failed too often; undefined for queues that are poison queues themselves. */
  readonly poisonQueueName: string | undefined;
  /** What the function gets. */
  readonly dataType: 'text' | 'bytes';
  /** How many messages one request asks for. */
  readonly batchSize: number;
  /** The next request goes out when no more than this many are being worked on. */
  readonly newBatchThreshold: number;
  /** How often a message may be handed out before it is poison. */
  readonly maxDequeueCount: number;
  /** How long a failed message stays hidden when nobody says otherwise. */
  readonly visibilityTimeoutMs: number;
  readonly maxPollingIntervalMs: number;
  /** For how long a received message is ours before it has to be renewed: after a crash it comes back that late. */
  readonly leaseMs: number;
  readonly messageEncoding: MessageEncoding;
  /** Redelivery of what failed is put off by this much, twice as long each time; 0 leaves it at `visibilityTimeoutMs`. */
  readonly retryBackOffMs: number;
  /** Keys of the binding that nobody here reads: apps may bring them, and their author may have meant others. */
  readonly unknownKeys: readonly string[];
}

export interface QueueOutputOptions {
  readonly queueName: string;
  readonly messageEncoding: MessageEncoding;
}

/** What the service allows for one request. */
const largestBatch = 32;
const dayMs = 24 * 3_600_000;

/** What host.json sets for all functions, and each trigger for itself. */
const shared = {
  batchSize: wholeNumber(1, largestBatch),
  newBatchThreshold: wholeNumber(0, 1_000),
  maxDequeueCount: wholeNumber(1, 1_000_000),
  visibilityTimeout: timeSpan(0, longestHideMs),
  maxPollingInterval: timeSpan(100, dayMs),
  leaseDuration: timeSpan(1_000, longestHideMs),
  messageEncoding: oneWordOf('base64', 'none'),
  retryBackOff: timeSpan(0, longestHideMs),
};
const onBinding = { queueName };
const onTrigger = { poisonQueueName: queueName, dataType: oneWordOf('string', 'binary', 'stream') };

/** Keys of a binding that others read. */
const commonKeys = ['name', 'type', 'direction', 'connection', 'properties', 'dataType', 'cardinality'];

export interface QueueOptionsRequest {
  readonly functionName: string;
  /** `extensions.queues` of host.json, if there is one. */
  readonly hostJson: unknown;
  /** The binding, verbatim: each option of host.json may stand there as well, and wins. */
  readonly binding: unknown;
}

/** Options of a queueTrigger; throws `TRIGGER_OPTIONS_INVALID` with everything that is wrong. */
export function queueOptions({ cores, ...request }: QueueOptionsRequest & { readonly cores: number }): QueueOptions {
  const problems: string[] = [];
  const host = readHostJson(request, problems);
  const unknown: string[] = [];
  const own = readOptions(
    { ...onBinding, ...shared, ...onTrigger },
    { where: 'its queueTrigger', values: request.binding, ignored: commonKeys, unknown },
    problems,
  );
  const { queueName: name, poisonQueueName, dataType } = own;
  const options = { ...host, ...own };
  const batchSize = options.batchSize ?? 16;
  const poison = poisonQueueName ?? defaultPoisonQueue(name, problems);
  if (poison !== undefined && poison === name) problems.push('its queueTrigger: poisonQueueName must be another queue');
  if (name === undefined || problems.length > 0) throw invalid(request, name, problems);
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
    unknownKeys: unknown,
  };
}

/** Options of a queue output binding; throws `TRIGGER_OPTIONS_INVALID` with everything that is wrong. */
export function queueOutputOptions(request: QueueOptionsRequest): QueueOutputOptions {
  const problems: string[] = [];
  const host = readHostJson(request, problems);
  const own = readOptions(
    { ...onBinding, messageEncoding: shared.messageEncoding },
    { where: 'its queue output', values: request.binding, ignored: commonKeys, unknown: [] },
    problems,
  );
  if (own.queueName === undefined || problems.length > 0) throw invalid(request, own.queueName, problems);
  return {
    queueName: own.queueName,
    messageEncoding: own.messageEncoding ?? host.messageEncoding ?? 'base64',
  };
}

function readHostJson({ hostJson }: QueueOptionsRequest, problems: string[]) {
  return readOptions(shared, { where: 'host.json extensions.queues', values: hostJson }, problems);
}

/** A poison queue has none of its own: its messages would go round for ever. */
function defaultPoisonQueue(name: string | undefined, problems: string[]): string | undefined {
  if (name === undefined || name.endsWith('-poison')) return undefined;
  const poison = queueName.read(`${name}-poison`);
  if (poison === undefined)
    problems.push(`its queueTrigger: "${name}-poison" is too long for a queue's name; set poisonQueueName`);
  return poison;
}

function invalid({ functionName }: QueueOptionsRequest, name: string | undefined, problems: readonly string[]): Error {
  const missing = name === undefined && !problems.some((problem) => problem.includes('queueName must'));
  return triggerOptionsInvalid({
    functionName,
    problems: missing ? [`its binding needs a queueName: ${queueName.allowed}`, ...problems] : problems,
  });
}
